/** Gives what a script is for to the tag that loaded it, which waits under `svc` of the script's element. */
export function handOver(made: unknown): void {
  const script = document.currentScript as (HTMLScriptElement & { svc?: (made: unknown) => void }) | null;
  script?.svc?.(made);
}
