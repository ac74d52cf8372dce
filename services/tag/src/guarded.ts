/**
 * The function with every error kept from the page: whatever a browser, an extension or a page has done to the APIs used
 * in it, the visitor's page goes on as if the tag was not there.
 */
export const guarded =
  <Args extends unknown[], Result>(fn: (...args: Args) => Result) =>
  (...args: Args): Result | undefined => {
    try {
      return fn(...args);
    } catch {
      return undefined;
    }
  };

export const attempt = <Result>(fn: () => Result): Result | undefined => guarded(fn)();

export const listen = (target: EventTarget, type: string, listener: (event: Event) => void): void => {
  attempt(() => target.addEventListener(type, guarded(listener)));
};
