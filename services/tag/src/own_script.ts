/**
 * The element of the script that runs now. The document's own property may be covered by what the page shows, as an
 * `<img name="currentScript">` that a stranger wrote into a comment: then the tag would go where that says.
 */
export const ownScript = Reflect.get(Document.prototype, 'currentScript', document) as HTMLScriptElement & {
  svc?: (made: unknown) => void;
};

/** Gives what a script is for to the tag that loaded it, which waits under `svc` of the script's element. */
export const resolveBatch = (made: unknown): void => ownScript.svc?.(made);
