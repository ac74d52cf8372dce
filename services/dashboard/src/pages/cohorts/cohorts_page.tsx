import { countableGroups } from '#pipelines/analytics/cohorts/cohort.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import { type CohortItem, kindOf } from '#services/control_api/cohorts.ts';
import { type ApiResult, ask, sitePath } from '../../api/request.ts';
import { useList, useQuery } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { SiteNamesContext, useSiteNames } from '../../questions/site_names.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { AskedTable, asRows, type Column, codeColumn, openColumn } from '../../ui/data_table.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { CohortDialog } from './cohort_dialog.tsx';
import { KIND_LABELS } from './cohort_form.ts';

type Size = Questions['cohorts']['answer']['cohorts'][number];
interface Row {
  item: CohortItem;
  size: Size | null;
}

/** Of one request. */
const SIZES_AT_ONCE = 20;

/** How many persons each has, in the order of the cohorts. */
async function sizesOf(siteId: string, items: CohortItem[], signal: AbortSignal): Promise<ApiResult<Size[]>> {
  const sizes: Size[] = [];
  for (const group of countableGroups(items, SIZES_AT_ONCE)) {
    const of = group.map(({ id: cohort }) => ({ cohort }));
    const answer = await ask(siteId, 'cohorts', { of, fresh: true }, signal);
    if (!answer.ok) return answer;
    sizes.push(...answer.value.cohorts);
  }
  return { ok: true, value: sizes, version: null };
}

export default function CohortsPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const names = useSiteNames(siteId);
  const cohorts = useList<CohortItem>(sitePath(siteId, 'cohorts'));
  const items = cohorts.value?.items ?? [];
  // Those by lists, and by what singles people out, are counted for who may see persons.
  const isCounted = mayAt('query.persons', siteId);
  const sizes = useQuery(JSON.stringify([siteId, isCounted, items.map(({ id, version }) => [id, version])]), (signal) =>
    sizesOf(siteId, isCounted ? items : [], signal),
  );
  const rows = items.map((item, at): Row => ({ item, size: sizes.isOld ? null : (sizes.value?.[at] ?? null) }));
  const chosen = currentLocation.value.query.get('cohort');
  const item = items.find(({ id }) => id === chosen) ?? null;
  return (
    <SiteNamesContext value={names}>
      <div class="stack">
        <Panel
          title="Cohorts"
          note="Saved groups of people, worked out anew whenever they are asked about."
          actions={
            mayAt('saved.change', siteId) && (
              <Button kind="primary" label="New cohort" onClick={() => setQuery({ cohort: '+' }, 'push')} />
            )
          }
        >
          <AskedTable
            asked={asRows(cohorts, () => rows)}
            caption="List of cohorts"
            columns={COLUMNS}
            keyOf={({ item: { id } }) => id}
            csvName="cohorts"
            emptyText="No cohorts yet"
            emptyHint="A cohort can be chosen as a filter in every question."
          />
          <FailureNote failure={sizes.failure} again={sizes.again} />
        </Panel>
        {chosen !== null && cohorts.value !== null && (chosen === '+' || item !== null) && (
          <CohortDialog
            key={chosen}
            siteId={siteId}
            item={item}
            taken={items.map(({ id }) => id)}
            onChanged={() => {
              cohorts.again();
              // Others may be by this one.
              names.again();
            }}
            onListed={sizes.again}
            onClose={() => setQuery({ cohort: null }, 'push')}
          />
        )}
      </div>
    </SiteNamesContext>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  openColumn({
    ...{ id: 'name', title: 'Name', look: 'strong', value: ({ item }) => item.name },
    open: ({ item }) => setQuery({ cohort: item.id }, 'push'),
  }),
  { id: 'kind', title: 'Kind', value: ({ item }) => KIND_LABELS[kindOf(item)] },
  {
    ...{ id: 'persons', title: 'People', align: 'end', value: ({ size }) => size?.persons ?? null },
    cell: ({ size }) => number(size?.persons ?? null),
  },
  {
    ...{ id: 'listed', title: 'Listed', align: 'end', value: ({ size }) => size?.listed ?? null, isExtra: true },
    cell: ({ size }) => number(size?.listed ?? null),
  },
  codeColumn('id', 'Id', ({ item }) => item.id),
];
