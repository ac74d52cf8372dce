import { attempt } from './guarded.ts';
import { api, OF_SCRIPT, type StartOptions, start } from './start.ts';

type Call = [method: keyof typeof api, ...args: unknown[]];
/** What the page's stub left: the calls so far. */
interface Stub {
  q?: Call[];
  status?: unknown;
}

/**
 * The address that the script came from is the edge's; what stands on its element is the site's, or in its query, as tag
 * managers keep no attributes.
 */
attempt(() => {
  const page = window as { svc?: Stub };
  const script = document.currentScript as HTMLScriptElement;
  if (page.svc?.status) return;
  const [base = ''] = script.src.split(OF_SCRIPT);
  start({
    ...(script.dataset as unknown as StartOptions),
    ...Object.fromEntries(new URL(script.src).searchParams),
    base,
    nonce: script.nonce,
  });
  const early = page.svc?.q ?? [];
  const call = ([method, ...args]: Call): unknown => (api[method] as (...args: unknown[]) => unknown)(...args);
  page.svc = Object.assign(page.svc ?? {}, api);
  for (const one of early) call(one);
  // A page may have kept the stub's functions.
  early.push = (one) => +!call(one);
});
