import type { SiteItem } from '#services/control_api/sites.ts';

/** What a part of the page needs. */
export interface SitePartProps {
  site: SiteItem;
  onChanged(): void;
}
