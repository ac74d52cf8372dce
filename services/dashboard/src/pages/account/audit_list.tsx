import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AuditItem, AuditPage } from '#services/control_api/audit.ts';
import type { Answer } from '../../api/api_answer.ts';
import { type Parameters, request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { place, setQuery } from '../../router.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Shown } from '../../ui/states.tsx';
import { AuditFilter, auditFilter } from './audit_filter.tsx';
import { auditSentence } from './audit_sentence.ts';

const PAGE = 200;

/** Who did what: the newest changes, and more of them when asked. */
export function AuditList(): VNode {
  const { query } = place.value;
  const filter = auditFilter(query);
  const about = JSON.stringify(filter);
  // Of another filter the newest come first again.
  const [read, setRead] = useState({ about, pages: 1 });
  const pages = read.about === about ? read.pages : 1;
  const asked = useAnswer(JSON.stringify([filter, pages]), (signal) => changes(filter, pages * PAGE, signal));
  const items = useMemo(() => asked.value?.items ?? [], [asked.value]);
  const chosen = items.find(({ seq }) => String(seq) === query.get('change'));
  return (
    <Panel
      title="Audit"
      note="The newest 8,000, and beside them 2,000 sign-ins and refusals. Of secrets it says that they were changed, and never to what."
    >
      <div class="stack">
        <AuditFilter />
        <Shown asked={asked}>
          {({ more }) => (
            <DataTable
              caption="Changes of settings"
              columns={COLUMNS}
              rows={items}
              keyOf={({ seq }) => String(seq)}
              csvName="changes"
              emptyText="No change is like this"
              more={more ? { load: () => setRead({ about, pages: pages + 1 }), asks: asked.asks } : undefined}
            />
          )}
        </Shown>
      </div>
      {chosen !== undefined && <ChangeDialog change={chosen} />}
    </Panel>
  );
}

async function changes(
  filter: Parameters,
  max: number,
  signal: AbortSignal,
): Promise<Answer<{ items: AuditItem[]; more: boolean }>> {
  const items: AuditItem[] = [];
  let before: number | null = null;
  do {
    const query: Parameters = { ...filter, before, limit: PAGE };
    const answer: Answer<AuditPage> = await request('GET', '/v1/admin/audit', { query, signal });
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
    before = answer.value.next;
  } while (before !== null && items.length < max);
  return { ok: true, value: { items, more: before !== null }, version: null };
}

const COLUMNS: readonly Column<AuditItem>[] = [
  {
    id: 'when',
    title: 'When',
    value: ({ changed_at }) => changed_at,
    cell: ({ seq, changed_at }) => (
      <button type="button" class="link" onClick={() => setQuery({ change: String(seq) }, 'push')}>
        {dateTime(changed_at)}
      </button>
    ),
  },
  { id: 'sentence', title: 'What was done', value: auditSentence },
  {
    id: 'about',
    title: 'About',
    value: ({ setting_key }) => setting_key,
    cell: ({ setting_key }) => <code>{shortKey(setting_key)}</code>,
  },
];

/** Hashes say nothing to people, and would make the table wide. */
const shortKey = (settingKey: string): string => settingKey.replace(/[0-9a-f]{64}$/, (hash) => `${hash.slice(0, 8)}…`);

function ChangeDialog({ change }: { change: AuditItem }): VNode {
  const { setting_key, changed_at, before, after, secrets_changed } = change;
  return (
    <Dialog title={shortKey(setting_key)} kind="side" onClose={() => setQuery({ change: null }, 'push')}>
      <div class="stack">
        <p>
          {auditSentence(change)}, {dateTime(changed_at)}
        </p>
        {secrets_changed.length > 0 && <p>Secrets that were set, replaced or removed: {secrets_changed.join(', ')}</p>}
        <Side title="Before" fields={before} />
        <Side title="After" fields={after} />
      </div>
    </Dialog>
  );
}

function Side({ title, fields }: { title: string; fields: AuditItem['before'] }): VNode | null {
  if (fields === null) return null;
  return (
    <section class="stack-small">
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre class="block" tabIndex={0}>
        {JSON.stringify(fields, null, 2)}
      </pre>
    </section>
  );
}
