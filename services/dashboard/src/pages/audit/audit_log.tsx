import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AuditItem, AuditPage } from '#services/control_api/audit.ts';
import { type ApiResult, type Parameters, request } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { dayEnd, dayStartOf } from '../../period.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { type Column, codeColumn, DataTable, openColumn } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, submitHandler, TextField, textFields } from '../../ui/form_fields.tsx';
import { Panel, Shown } from '../../ui/panel.tsx';
import { auditSentence } from './audit_sentence.ts';

const PAGE = 200;

export function AuditList() {
  const { query } = currentLocation.value;
  const filter = auditFilter(query);
  const about = JSON.stringify(filter);
  // Of another filter the newest come first again.
  const [read, setRead] = useState({ about, pages: 1 });
  const pages = read.about === about ? read.pages : 1;
  const asked = useQuery(JSON.stringify([filter, pages]), (signal) => changes(filter, pages * PAGE, signal));
  const items = useMemo(() => asked.value?.items ?? [], [asked.value]);
  const chosen = items.find(({ seq }) => String(seq) === query.get('change'));
  return (
    <Panel
      title="Audit"
      note="The newest 8,000 changes and 2,000 sign-ins and denials. Secret values are never recorded."
    >
      <div class="stack">
        <AuditFilter />
        <Shown asked={asked}>
          {({ more }) => (
            <DataTable
              caption="Audit log"
              columns={COLUMNS}
              rows={items}
              keyOf={({ seq }) => String(seq)}
              csvName="changes"
              emptyText="No matching entries"
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
): Promise<ApiResult<{ items: AuditItem[]; more: boolean }>> {
  const items: AuditItem[] = [];
  let before: number | null = null;
  do {
    const query: Parameters = { ...filter, before, limit: PAGE };
    const answer: ApiResult<AuditPage> = await request('GET', '/v1/admin/audit', { query, signal });
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
    before = answer.value.next;
  } while (before !== null && items.length < max);
  return { ok: true, value: { items, more: before !== null }, version: null };
}

const COLUMNS: readonly Column<AuditItem>[] = [
  openColumn({
    ...{ id: 'when', title: 'When', value: ({ changed_at }) => changed_at },
    shown: ({ changed_at }) => dateTime(changed_at),
    open: ({ seq }) => setQuery({ change: String(seq) }, 'push'),
  }),
  { id: 'sentence', title: 'Action', value: auditSentence },
  codeColumn('about', 'Resource', ({ setting_key }) => setting_key, shortKey),
];

/** Hashes say nothing to people, and would make the table wide. */
function shortKey(settingKey: string): string {
  return settingKey.replace(/[0-9a-f]{64}$/, (hash) => `${hash.slice(0, 8)}…`);
}

function ChangeDialog({ change }: { change: AuditItem }) {
  const { setting_key, changed_at, before, after, secrets_changed } = change;
  return (
    <Dialog title={shortKey(setting_key)} kind="side" onClose={() => setQuery({ change: null }, 'push')}>
      <div class="stack">
        <p>
          {auditSentence(change)}, {dateTime(changed_at)}
        </p>
        {secrets_changed.length > 0 && <p>Changed secrets: {secrets_changed.join(', ')}</p>}
        <Side title="Before" fields={before} />
        <Side title="After" fields={after} />
      </div>
    </Dialog>
  );
}

function Side({ title, fields }: { title: string; fields: AuditItem['before'] }) {
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

const KINDS = [
  { value: '', label: 'All' },
  { value: 'change', label: 'Changes and actions' },
  { value: 'sign_in', label: 'Sign-ins' },
  { value: 'refusal', label: 'Denials' },
];

const auditFilter = (query: URLSearchParams): Record<string, string | number | null> => ({
  ...{ setting_key: query.get('setting'), changed_by: query.get('by'), kind: query.get('kind') },
  ...{ since: dayStartOf(query.get('since')), until: dayEnd(query.get('until')) },
});

const NAMES = ['setting', 'by', 'kind', 'since', 'until'] as const;

const fieldsIn = (query: URLSearchParams) =>
  Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ''])) as Record<(typeof NAMES)[number], string>;

function AuditFilter() {
  const { query } = currentLocation.value;
  const inAddress = JSON.stringify(fieldsIn(query));
  const [typed, setTyped] = useState(() => fieldsIn(query));
  // The way back and forward changes them too. What else the address says, such as a change that is opened, leaves what is typed.
  useEffect(() => setTyped(fieldsIn(currentLocation.peek().query)), [inAddress]);
  const field = textFields(typed, (change) => setTyped({ ...typed, ...change }));
  const { setting, by, kind, since, until } = typed;
  const isWrong = since !== '' && until !== '' && since > until;
  return (
    <form
      class="form-row"
      onSubmit={submitHandler(() => {
        if (!isWrong) setQuery({ setting: setting.trim(), by: by.trim(), kind, since, until }, 'push');
      })}
    >
      <SelectField label="Type" options={KINDS} {...field('kind')} />
      <TextField label="User or token" type="search" hint="A user id, or the label of a token." {...field('by')} />
      <TextField
        label="Resource"
        type="search"
        placeholder="site/shop or destination/shop/"
        hint="An exact key, or a prefix that ends with /."
        {...field('setting')}
      />
      <TextField label="First day" type="date" {...field('since')} />
      <TextField
        label="Last day"
        type="date"
        {...field('until')}
        problem={isWrong ? 'The last day must not be before the first.' : ''}
      />
      <div class="field-button">
        <Button type="submit" label="Filter" />
      </div>
    </form>
  );
}
