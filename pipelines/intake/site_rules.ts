import { ALIASES, conversionName } from '#pipelines/delivery/conversion_names.ts';
import type { Site } from '#schemas/setting.ts';
import { type BlockTest, compileBlockRules } from './block_rules.ts';
import { identifyNames } from './identify_events.ts';

/** What of a site's settings is compiled once instead of at every event. */
export interface SiteRules {
  blocks: readonly BlockTest[];
  identifyNames: ReadonlySet<string>;
  serverOnlyNames: ReadonlySet<string>;
}

/** All names by which platforms are sent the same: a browser's `Order Completed` would be a purchase there as well. */
function namesOfAct(name: string): string[] {
  const { canonical } = conversionName(name);
  return canonical === null ? [name] : [name, canonical, ...ALIASES[canonical]];
}

const compiled = new WeakMap<Site, SiteRules>();

/** The site's rules; a changed setting comes as a new Site and is compiled anew. */
export function siteRules(site: Site): SiteRules {
  const known = compiled.get(site);
  if (known !== undefined) return known;
  const rules = {
    blocks: compileBlockRules(site.block_rules),
    identifyNames: identifyNames(site.identify_events),
    serverOnlyNames: identifyNames(site.server_only_events.flatMap(namesOfAct)),
  };
  compiled.set(site, rules);
  return rules;
}
