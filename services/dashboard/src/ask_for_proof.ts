import { signal } from '@preact/signals';
import { whenProofNeeded } from './api/request.ts';

/** Where somebody is asked to prove that it is them: what is called with whether they have. */
export const proofAsked = signal<((isProven: boolean) => void) | null>(null);

let waiting: Promise<boolean> | null = null;

/** Asks for a proof as soon as the service wants one, once for all requests that wait for it. */
export function followProofs(): void {
  whenProofNeeded(() => {
    waiting ??= new Promise((resolve) => {
      const settle = (isProven: boolean): void => {
        // A late answer to one question must not settle the next, which somebody else may have been asked.
        if (proofAsked.value !== settle) return;
        waiting = null;
        proofAsked.value = null;
        resolve(isProven);
      };
      proofAsked.value = settle;
    });
    return waiting;
  });
}

/** Does nothing of what waits for a proof: who wanted it is not there any more. */
export function dropProof(): void {
  proofAsked.value?.(false);
}
