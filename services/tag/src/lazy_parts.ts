import type { PartHost } from './types.ts';

/**
 * Loads a script of the tag that not every page needs, and starts what it hands over (part_script.ts).
 *
 * @returns what that gave; undefined where the page does not let the script in, or something in it fails: that costs this
 *   part, and nothing else of the tag or the page.
 */
export const startPart = <Made = void>(host: PartHost, name: string): Promise<Made | undefined> =>
  new Promise<(host: PartHost) => Made>((resolve, reject) => {
    // Nothing takes no properties, which is an error, and so a rejection too.
    Object.assign(host.load(`${host.base}svc-${name}.min.js`) as object, { svc: resolve, onerror: reject });
  })
    .then((start) => start(host))
    .catch(() => undefined);
