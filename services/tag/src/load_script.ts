import { attempt } from './guarded.ts';

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
export const loadScript = (url: string, nonce = ''): HTMLScriptElement | undefined =>
  attempt(() => {
    if (policy === undefined) {
      policy = null;
      policy = (window as PolicyWindow).trustedTypes?.createPolicy('svc', RULES) ?? RULES;
    }
    const script = document.createElement('script');
    script.nonce = nonce;
    // Of no policy that is an error, and the end of it.
    script.src = (policy as Policy).createScriptURL(url);
    document.head.append(script);
    return script;
  });
