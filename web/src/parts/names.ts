// What the server takes for a name or an id.

export const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
export const isQueueName = (text: string): boolean => /^[A-Za-z0-9._-]{1,64}$/.test(text);
