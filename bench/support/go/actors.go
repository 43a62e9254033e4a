package support

// MailboxCapacity is that of the channel from which a goroutine receives that stands for an actor.
const MailboxCapacity = 1000
