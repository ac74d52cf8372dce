import { type Moment, setMoment } from './events.ts';
import { ownScript } from './own_script.ts';
import { attempt, guarded } from './page.ts';
import { api, OF_SCRIPT, type StartOptions, start } from './start.ts';

type Call = [method: keyof typeof api, ...args: unknown[]] & {
  /** When and where it was made; calls that pages push themselves do not say so. Not `at`, which any array has. */
  when?: Moment;
};
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
  const stub: Stub = page.svc?.q?.push ? (page.svc as Stub) : { q: [] };
  // The page that the first call was made on may be left by now.
  setMoment(stub.q[0]?.when);
  start({
    ...(ownScript.dataset as unknown as StartOptions),
    ...Object.fromEntries(new URL(ownScript.src).searchParams),
    base: ownScript.src.replace(OF_SCRIPT, ''),
    nonce: ownScript.nonce,
  });
  // What a page has pushed may be no call: those behind it are.
  const call = guarded((one: Call) => {
    const [method, ...args] = one;
    setMoment(one.when);
    (api[method] as (...args: unknown[]) => unknown)(...args);
  });
  page.svc = Object.assign(stub, api);
  // A page may have kept the stub's functions.
  stub.q.push = call as unknown as () => number;
  stub.q.map(call);
  setMoment();
});
