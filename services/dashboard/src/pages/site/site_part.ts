import type { SiteItem } from '#services/control_api/site_shapes.ts';

/** What a part of the page needs. `version` is what the site's settings were when they were read. */
export interface SitePartProps {
  site: SiteItem;
  version: string;
  onChanged(): void;
}
