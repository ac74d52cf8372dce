import { attempt } from './guarded.ts';

interface Policy {
  createScriptURL(url: string): string;
}
interface PolicyWindow {
  trustedTypes?: { createPolicy(name: string, rules: Policy): Policy };
}

let policy: Policy | undefined;
let isForbidden = false;

/**
 * Adds a script to the page, with the nonce by which the page's policy lets it. Where Trusted Types are required its
 * address goes through the policy `svc`; a page that does not allow that gets no further scripts, and everything else.
 */
export const loadScript = (url: string, nonce = ''): HTMLScriptElement | undefined =>
  attempt(() => {
    if (isForbidden) return undefined;
    isForbidden = true;
    policy ??= (window as PolicyWindow).trustedTypes?.createPolicy('svc', { createScriptURL: (given) => given });
    const script = document.createElement('script');
    script.nonce = nonce;
    script.src = policy?.createScriptURL(url) ?? url;
    document.head.append(script);
    isForbidden = false;
    return script;
  });
