import { ownScript } from './own_script.ts';

/** Gives what a script is for to the tag that loaded it, which waits under `svc` of the script's element. */
export const handOver = (made: unknown): void => ownScript.svc?.(made);
