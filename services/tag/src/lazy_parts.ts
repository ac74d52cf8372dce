import type {
  DefinitionsHost,
  EngageHost,
  EventDefinition,
  InventoryHost,
  ScriptsHost,
  SiteConfig,
  Vendors,
  VendorsHost,
} from './types.ts';

const INVENTORY_AFTER_MS = 2000;

/** A script of the tag that not every page needs. It hands over what it is for by `handOver`. */
function part<Made>({ base, load }: ScriptsHost, name: string): (use: (made: Made) => void) => void {
  let coming: Promise<Made> | undefined;
  return (use) => {
    coming ??= new Promise((resolve) => {
      const script = load(base + name);
      if (script) Object.assign(script, { svc: resolve });
    });
    // What fails in a part costs that part, and nothing else of the tag or the page.
    coming.then(use).catch(() => undefined);
  };
}

/** The platforms' scripts (vendors.ts), loaded where a site has any and the visitor allows some. Events wait for it. */
export function createVendors(config: SiteConfig, host: VendorsHost): Vendors {
  const { facebook, tiktok, ga4, gtm, clarity } = config;
  const load = part<(config: SiteConfig, host: VendorsHost) => Vendors>(host, 'svc-vendors.min.js');
  let vendors: Vendors | undefined;
  let isStarted = false;
  const use = (call: (vendors: Vendors) => void) =>
    load((create) => {
      vendors ??= create(config, host);
      call(vendors);
    });
  return {
    start() {
      isStarted ||= Boolean((facebook ?? tiktok ?? ga4 ?? gtm ?? clarity) && (host.ads() || host.analytics()));
      if (isStarted) use((all) => all.start());
    },
    event(event) {
      if (isStarted) use((all) => all.event(event));
    },
  };
}

/** What definitions could be made of (page_inventory.ts), looked for once the page is built and only then loaded. */
export function startInventory(host: InventoryHost): void {
  const load = part<(host: InventoryHost) => void>(host, 'svc-inventory.min.js');
  setTimeout(() => load((start) => start(host)), INVENTORY_AFTER_MS);
}

/** What fires by itself (fire_definitions.ts), loaded where the site has defined any. */
export function startDefinitions(events: readonly EventDefinition[], host: DefinitionsHost & ScriptsHost): void {
  const load = part<(events: readonly EventDefinition[], host: DefinitionsHost) => void>(
    host,
    'svc-definitions.min.js',
  );
  if (events[0]) load((start) => start(events, host));
}

/** What a site asks for beside measuring (engage.ts). */
export const startEngage = (host: EngageHost): void =>
  part<(host: EngageHost) => void>(host, 'svc-engage.min.js')((start) => start(host));
