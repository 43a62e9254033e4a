// Runs `load`, but never twice at once: what is asked for meanwhile is loaded when that has ended. So a page comes
// also where an answer takes longer than the time between two changes.

export interface OneAtATime {
  ask(): void;
  abandon(): void; // What is on its way, and what waits for it; one may ask again.
}

// `load` does not fail: it says by itself what went wrong. What it hears after its signal came is not to be used.
export function oneAtATime(load: (signal: AbortSignal) => Promise<void>): OneAtATime {
  let current: AbortController | undefined;
  let isWanted = false;
  const ask = () => {
    if (current) {
      isWanted = true;
      return;
    }
    const mine = new AbortController();
    current = mine;
    void load(mine.signal).then(() => {
      if (current !== mine) return;
      current = undefined;
      if (!isWanted) return;
      isWanted = false;
      ask();
    });
  };
  const abandon = () => {
    current?.abort();
    current = undefined;
    isWanted = false;
  };
  return { ask, abandon };
}
