import { Type } from 'typebox';
import { closed, idField, nothing, pageFields, pageOf } from '#services/control_api/fields.ts';
import { page } from './list_page.ts';
import { done, type Route, route } from './route.ts';

const claimShape = Type.Object({
  domain: Type.String(),
  site_id: idField('The site that owns the domain'),
});

export const domainRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/admin/domains',
    operationId: 'listDomains',
    tag: 'Sites',
    summary: 'List claimed first-party domains and the site that each belongs to',
    params: nothing,
    query: closed(pageFields),
    body: null,
    ifMatch: 'none',
    success: { status: 200, schema: pageOf(claimShape), description: 'Domains, sorted by name' },
    errors: [],
    run({ query }, { view }) {
      const claims = view.table
        .sites()
        .flatMap((site) => site.domains.map((domain) => ({ domain, site_id: site.site_id })))
        .filter(({ domain, site_id }) => view.table.siteByDomain(domain)?.site_id === site_id)
        .sort((a, b) => (a.domain < b.domain ? -1 : 1));
      const body = page(
        claims,
        query,
        ({ domain }) => domain,
        (claim) => claim,
      );
      return done([], () => ({ body }));
    },
  }),
];
