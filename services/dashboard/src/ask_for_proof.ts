import { signal } from '@preact/signals';
import { whenProofNeeded } from './api/request.ts';

/** Where somebody is asked to prove that it is them: what is called with whether they have. */
export const proofAsked = signal<((isProven: boolean) => void) | null>(null);

let waiting: Promise<boolean> | null = null;

/** Asks for a proof as soon as the service wants one, once for all requests that wait for it. */
export function followProofs(): void {
  whenProofNeeded(() => {
    waiting ??= new Promise((resolve) => {
      proofAsked.value = (isProven) => {
        waiting = null;
        proofAsked.value = null;
        resolve(isProven);
      };
    });
    return waiting;
  });
}
