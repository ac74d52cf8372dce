// What the tag fetches once it runs: the site's configuration, and the scripts of its further parts.

import { sleep } from './outbox.ts';
import { attempt } from './page.ts';
import { askFor, waitMs } from './requests.ts';
import type { StartOptions } from './start.ts';
import type { PartHost, SiteConfig } from './types.ts';

/**
 * Loads a script of the tag that not every page needs, and starts what it hands over (own_script.ts).
 *
 * @returns what that gave; undefined where the page does not let the script in, or something in it fails: that costs this
 *   part, and nothing else of the tag or the page.
 */
export const startPart = <Made = void, Host extends StartOptions = PartHost>(
  host: Host,
  name: string,
): Promise<Made | undefined> =>
  new Promise<(host: Host) => Made>((resolve, reject) => {
    // Nothing takes no properties, which is an error, and so a rejection too.
    Object.assign(loadScript(host, `${host.base}svc-${name}.min.js`) as object, { svc: resolve, onerror: reject });
  })
    .then((start) => start(host))
    .catch(() => undefined);

interface Policy {
  createScriptURL(url: string): string;
}
interface PolicyWindow {
  trustedTypes?: { createPolicy(name: string, rules: Policy): Policy };
}

const RULES: Policy = { createScriptURL: (given) => given };
/** Null: the page does not allow ours. */
let policy: Policy | null | undefined;

/**
 * Adds a script to the page, with the nonce by which the page's policy lets it. Where Trusted Types are required its
 * address goes through the policy `svc`; a page that does not allow that gets no further scripts, and everything else.
 */
export const loadScript = (host: Pick<StartOptions, 'nonce'>, url: string): HTMLScriptElement | undefined =>
  attempt(() => {
    if (policy === undefined) {
      policy = null;
      policy = (window as PolicyWindow).trustedTypes?.createPolicy('svc', RULES) ?? RULES;
    }
    const script = document.createElement('script');
    script.nonce = host.nonce ?? '';
    // Of no policy that is an error, and the end of it.
    script.src = (policy as Policy).createScriptURL(url);
    document.head.append(script);
    return script;
  });

/** Asks for the site's configuration until the edge answers; undefined where it refuses the key or the page's origin. */
export const askConfig = async (url: string): Promise<SiteConfig | undefined> => {
  for (let failures = 1; ; failures++) {
    const { answer_, told_ } = await askFor<SiteConfig>('mode', url);
    if (told_) return told_.error ? undefined : told_;
    await sleep(waitMs(failures, Math.random(), answer_?.headers.get('retry-after')));
  }
};
