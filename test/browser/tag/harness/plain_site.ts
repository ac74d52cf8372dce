import type { SiteConfig } from '#services/tag/src/types.ts';

/** The configuration of a site that has set nothing. */
export const PLAIN_SITE: SiteConfig = {
  mode: 'online',
  business_category: 'other',
  clarity: null,
  facebook: null,
  tiktok: null,
  ga4: null,
  gtm: null,
  custom_loader: false,
  events: [],
};
