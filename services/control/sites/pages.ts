// What rules of pages would make of those that a site had in its last day.

import { type PagePreviewRow, pagePreviewStatement } from '#pipelines/analytics/pages/preview.ts';
import { pageRulesOf } from '#pipelines/settings/page_rules.ts';
import { pageProblems } from '#pipelines/settings/validate.ts';
import { PAGE_DEFAULTS, type PageRules, type Site } from '#schemas/setting.ts';
import * as api from '#services/control_api/sites.ts';
import { MIN_PERSONS } from '../queries/routes.ts';
import { inSite, refused, refusedFor, resource, route } from '../route.ts';

const DAY_MS = 86_400_000;
/** In steps, so that equal questions of a few seconds share an answer. */
const STEP_MS = 5_000;

/** The rules of a site with a change of some of them. */
export const changedPages = ({ pages }: Pick<Site, 'pages'>, change: Partial<PageRules> = {}): PageRules => ({
  ...PAGE_DEFAULTS,
  ...pages,
  ...change,
});

export const pageRoutes = resource('Sites', [
  route('POST', '/v1/admin/sites/{site_id}/pages/preview', 'previewPages', {
    access: inSite('query.aggregates'),
    summary: "What rules, the site's own with those given in their place, make of the pages of its last day",
    params: api.siteParams,
    body: api.pagePreviewBody,
    success: { status: 200, schema: api.pagePreviewAnswer, description: 'The pages that there would be' },
    errors: ['site_unknown'],
    prepare({ params: { site_id: siteId }, body }, { view, nowMs, may }) {
      const site = view.table.site(siteId);
      if (site === undefined) return refused('site_unknown');
      const pages = changedPages(site, body.pages);
      const refusal = refusedFor(pageProblems(pages));
      if (refusal !== null) return refusal;
      const to = Math.ceil(nowMs / STEP_MS) * STEP_MS;
      const { limit = api.PAGES_SHOWN } = body;
      const minPersons = may('query.persons', { site: siteId }) ? 1 : MIN_PERSONS;
      const time = { from: to - DAY_MS, to };
      return {
        kind: 'query',
        siteId,
        about: 'pages',
        reads: time,
        isShared: false,
        asked: {},
        statement: pagePreviewStatement(siteId, { ...time, rules: pageRulesOf({ pages }), limit, minPersons }),
        cacheTtlMs: STEP_MS,
        answer: (rows) => ({ ...time, ...previewOf(rows as PagePreviewRow[]) }),
      };
    },
  }),
]);

function previewOf(rows: readonly PagePreviewRow[]): Omit<api.PagePreview, 'from' | 'to'> {
  return {
    views: rows[0]?.all_views ?? 0,
    pages_before: rows[0]?.all_sources ?? 0,
    pages_after: rows[0]?.all_pages ?? 0,
    items: rows.map(({ page, views, sources, source_pages, is_changed }) => ({
      ...{ page, views, source_pages, is_changed: is_changed === 1 },
      sources: sources.map(([source, seen]) => ({ page: source, views: seen })),
    })),
  };
}
