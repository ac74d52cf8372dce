/** Properties of an event as they are sent: JSON values. */
export type Properties = Record<string, unknown>;

/** An event that a page fires by itself. */
export interface EventDefinition {
  id: string;
  name: string;
  trigger: 'pageview' | 'click' | 'submit' | 'change' | 'visible' | 'scroll' | 'timer' | 'custom';
  selector: string;
  url_pattern: string;
  text_contains: string;
  properties: Properties;
  conversion_event: string;
  /** A destination that is absent is sent to. */
  destinations: Record<string, boolean>;
  value_selector: string;
  field_selectors: Record<string, string>;
  enabled: boolean;
}

/** How the tag behaves on the site. */
interface TagSettings {
  /** Whether the site has surveys, promos or forms. */
  engage: boolean;
  web_vitals: boolean;
  /** The tag's further scripts that the site has work for from the start, as `vendors` of svc-vendors.min.js. */
  parts: string[];
  /** Required: nothing is measured before it is given. Queue: what happened before is sent once it is given. */
  consent: { required: boolean; queue: boolean };
  respect_dnt: boolean;
  respect_gpc: boolean;
  inventory: boolean;
  /** Whether another route in the fragment is another page. */
  hash_routes: boolean;
  /** Where vendors' scripts come from on a claimed domain: its origin, and the path before their names. */
  loader: { base: string; prefix: string } | null;
  /** By destination: the platform's names that the site chose for its events, by the event's name, folded. */
  event_names: Record<string, Record<string, string>>;
}

/** The site's public configuration. */
export interface SiteConfig {
  mode: 'online' | 'offline';
  business_category: string;
  clarity: { project_id: string } | null;
  facebook: { pixel_id: string; route_pixels: { pixel_id: string; url_pattern: string }[] } | null;
  tiktok: { pixel_code: string } | null;
  ga4: { measurement_id: string } | null;
  gtm: { container_id: string } | null;
  custom_loader: boolean;
  events: EventDefinition[];
  tag?: Partial<TagSettings>;
}

/** Calls its listener for the page that is shown, and again for each page shown after it. */
type OnPage = (listener: () => void) => void;

/** Where the tag's own further scripts come from. */
interface ScriptsHost {
  /** The address that the edge's routes follow, with a slash at its end. */
  base: string;
  /** Loads a script with the page's nonce and under its Trusted Types; undefined where the page does not let it. */
  load(url: string): object | undefined;
}

/** `startDefinitions(events, host)`: watches the page and fires the definitions that are enabled. */
export interface DefinitionsHost {
  /** Static properties, value and fields are in `properties` already. */
  track(name: string, properties: Properties, definition?: EventDefinition): void;
  onPage: OnPage;
  /** Set by the definitions once they are there: adds what those of the trigger `custom` say to an event of the page's own. */
  enrich?: (name: string, properties: Properties) => Properties;
}

/** An element that a definition could be made of. */
export interface InventoryElement {
  type: string;
  selector: string;
  text: string;
  href?: string;
  event_hint?: string;
}

/** The body of POST /v1/inventory. */
export interface InventoryBody {
  page: string;
  url: string;
  title: string;
  elements: InventoryElement[];
}

/** `startInventory(host)`: looks over each page when the browser is idle. */
export interface InventoryHost {
  submit(body: InventoryBody): void;
  onPage: OnPage;
}

/** `createVendors(config, host)`. */
export interface VendorsHost extends ScriptsHost {
  /** What the visitor allows now. */
  ads(): boolean;
  analytics(): boolean;
}

/** An event as the vendors' pixels get it; its uuid is the event id that they share with the edge. */
export interface VendorEvent {
  event: string;
  uuid: string;
  properties: Properties;
}

/** The scripts of the platforms, and what they are told. */
export interface Vendors {
  /** Loads what is configured and allowed; called again when the visitor's choice changes. */
  start(): void;
  event(event: VendorEvent): void;
}

/** What svc-engage.min.js is started with. */
export interface EngageHost extends VendorsHost, DefinitionsHost {
  key: string;
  config: SiteConfig;
}

/** What the tag offers to any of its further scripts. */
export interface PartHost extends EngageHost {
  /**
   * The id that the tag itself works with; undefined: it needed none yet, empty: the visitor was forgotten. A tag that a
   * browser has kept from before has no such function, as its further scripts are kept apart from it.
   */
  visitor?(): string | undefined;
  /** Takes what a banner's tool says of the visitor's choice. */
  hear(signals?: object): void;
  /** Set by the part for platforms where the site has Meta's pixel: makes Meta's ids where the browser has none. */
  makeAdIds?: (click: string | undefined, nowMs: number) => void;
  /** Has what is made of an address say which page it is; a tag that a browser has kept from before has none. */
  pagesBy?(of: (href: string) => string): void;
  /** The address of a route under /v1/, with the site's key. */
  address(path: string): string;
}
