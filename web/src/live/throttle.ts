// Runs `work` at once, but never more often than every `interval`; the last request is never lost.

export interface Throttled {
  (): void;
  cancel(): void;
}

export function throttle(work: () => void, interval: number): Throttled {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWanted = false;
  const tick = () => {
    timer = undefined;
    if (isWanted) run();
  };
  const run = () => {
    isWanted = false;
    timer = setTimeout(tick, interval);
    work();
  };
  const throttled = () => {
    if (timer === undefined) run();
    else isWanted = true;
  };
  throttled.cancel = () => {
    clearTimeout(timer);
    timer = undefined;
    isWanted = false;
  };
  return throttled;
}
