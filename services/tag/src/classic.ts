import { attempt } from './guarded.ts';
import { ownScript } from './own_script.ts';
import { api, OF_SCRIPT, type StartOptions, start } from './start.ts';

type Call = [method: keyof typeof api, ...args: unknown[]];
/** What the page's stub left: the calls so far. */
interface Stub {
  q: Call[];
  status?: () => unknown;
}

/**
 * The address that the script came from is the edge's; what stands on its element is the site's, or in its query, as tag
 * managers keep no attributes.
 */
attempt(() => {
  const page = window as { svc?: Partial<Stub> };
  // By its id an element may stand under that name, and its fields under these, none of which can be called or pushed to.
  if (page.svc?.status?.call) return;
  start({
    ...(ownScript.dataset as unknown as StartOptions),
    ...Object.fromEntries(new URL(ownScript.src).searchParams),
    base: ownScript.src.replace(OF_SCRIPT, ''),
    nonce: ownScript.nonce,
  });
  const stub: Stub = page.svc?.q?.push ? (page.svc as Stub) : { q: [] };
  const call = ([method, ...args]: Call): unknown => (api[method] as (...args: unknown[]) => unknown)(...args);
  page.svc = Object.assign(stub, api);
  // A page may have kept the stub's functions.
  stub.q.push = call as () => number;
  stub.q.map(call);
});
