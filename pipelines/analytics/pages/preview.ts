// What rules would make of the pages that a site had: shown before they are saved.
import type { PageRules } from '#schemas/setting.ts';
import { firstRowsSql, querySpan, SPILLED } from '../sql/event_rows.ts';
import { createBinder, type Statement, textOfJson } from '../sql/statement.ts';
import { VIEWS } from '../visits/question.ts';
import { PAGE_ADDRESS, pageOf } from './page_sql.ts';

/** Of a page so many that become it are told, those of most views. */
const SOURCES_MAX = 10;

/** A page that there would be. */
export interface PagePreviewRow {
  page: string;
  views: number;
  /** Pages without rules that become it, and how many they are. */
  sources: [page: string, views: number][];
  source_pages: number;
  /** 1 or 0. */
  is_changed: number;
  /** The same in each row: of how many page views it is told, and how many pages there are without rules and by them. */
  all_views: number;
  all_sources: number;
  all_pages: number;
}

/**
 * The statement of the pages of a time by rules, those that are changed first, then those of most views. Rows: PagePreviewRow.
 *
 * @param minPersons Pages that fewer persons have seen are counted and not told.
 */
export function pagePreviewStatement(
  siteId: string,
  asked: { from: number; to: number; rules: PageRules | null; limit: number; minPersons: number },
): Statement {
  const binder = createBinder();
  const address = binder.name(textOfJson(binder.name(PAGE_ADDRESS)));
  const rows = firstRowsSql(
    {
      siteId,
      span: querySpan(asked, binder),
      selections: [{ events: VIEWS }],
      conditions: [`${address} != ''`],
      columns: { source: pageOf(address, null, binder), page: pageOf(address, asked.rules, binder), person: 'actor' },
    },
    binder,
  );
  const isTold = `>= ${asked.minPersons}`;
  const pairs = `SELECT source, page, count() AS views, uniqExactState(person) AS persons FROM (${rows}) GROUP BY source, page`;
  const pages = `SELECT page, sum(views) AS seen, uniqExactMerge(persons) AS seen_by, count() AS source_pages,
    max(source != page) AS is_changed, uniqExactState(source) AS all_of,
    arraySlice(arraySort(x -> (-toInt64(x.2), x.1), groupArrayIf((source, views), finalizeAggregation(persons) ${isTold})), 1, ${SOURCES_MAX}) AS sources
  FROM (${pairs}) GROUP BY page`;
  return binder.statement(`SELECT page, views, sources, source_pages, is_changed, all_views, all_sources, all_pages
FROM (SELECT *, seen AS views, sum(seen) OVER () AS all_views, uniqExactMerge(all_of) OVER () AS all_sources, count() OVER () AS all_pages FROM (${pages}))
WHERE seen_by ${isTold} ORDER BY is_changed DESC, views DESC, page LIMIT ${asked.limit}
${SPILLED}`);
}
