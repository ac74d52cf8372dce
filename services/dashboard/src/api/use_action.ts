import { useState } from 'preact/hooks';
import type { Answer, Failure } from './api_answer.ts';

/** A change that somebody asked for by a button: whether it is under way, and why it was refused. */
export interface Action {
  isBusy: boolean;
  failure: Failure | null;
  /** Does it, unless it is under way; answers what came of it where that went well, else null. */
  run<Value>(task: () => Promise<Answer<Value>>): Promise<Value | null>;
  /** Forgets why the last one was refused. */
  clear(): void;
}

/** What a form or a button that changes something needs. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  return {
    isBusy,
    failure,
    async run(task) {
      if (isBusy) return null;
      setBusy(true);
      const answer = await task();
      setBusy(false);
      setFailure(answer.ok ? null : answer.failure);
      return answer.ok ? answer.value : null;
    },
    clear: () => setFailure(null),
  };
}
