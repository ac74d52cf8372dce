import { randomBase62 } from '#pipelines/settings/random_text.ts';
import { nothing } from '#services/control_api/fields.ts';
import { siteParams, siteShape } from '#services/control_api/site_shapes.ts';
import { done, type Outcome, type Route, refused, route, type World } from './route.ts';
import { inSite } from './route_access.ts';
import { showSite } from './sites.ts';

const PREFIX_CHARACTERS = 12;
const ofPrefix = {
  path: '/v1/admin/sites/{site_id}/loader-prefix',
  tag: 'Sites',
  params: siteParams,
  query: nothing,
  body: null,
  ifMatch: 'none',
  success: { status: 200, schema: siteShape, description: 'The site as it is now' },
  errors: ['site_unknown'],
} as const;

export const loaderPrefixRoutes: Route[] = [
  route({
    ...ofPrefix,
    method: 'PUT',
    operationId: 'chooseLoaderPrefix',
    access: inSite('site.change'),
    summary: "Choose another random folder under which the site's domains have vendors' scripts and collectors as well",
    run({ params: { site_id } }, world) {
      return withPrefix(world, site_id, randomBase62(PREFIX_CHARACTERS, world.randomBytes).toLowerCase());
    },
  }),
  route({
    ...ofPrefix,
    method: 'DELETE',
    operationId: 'removeLoaderPrefix',
    access: inSite('site.change'),
    summary: "Have no such folder any more; vendors' scripts and collectors stay under their own names",
    run({ params: { site_id } }, world) {
      return withPrefix(world, site_id, null);
    },
  }),
];

function withPrefix({ view }: World, siteId: string, loader_prefix: string | null): Outcome {
  const site = view.table.site(siteId);
  return site === undefined
    ? refused('site_unknown')
    : done([{ body: { site: { ...site, loader_prefix } } }], showSite(siteId));
}
