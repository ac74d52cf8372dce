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

const FIELDS: Readonly<Record<string, string>> = {
  allowed_origins: 'the allowed origins',
  disabled_at: 'whether it is disabled',
  expires_at: 'the expiry',
  grants: 'the roles',
  oidc_subjects: 'the linked providers',
  revoked_at: 'whether it is revoked',
  sessions_from: 'the earliest valid session',
  totp: 'the second factor',
};
const FIELDS_NAMED_MAX = 3;

const DONE: Readonly<Record<string, (item: AuditItem, about: string, who: string) => string>> = {
  'user.sign_in': (_item, _about, who) => `${who} signed in`,
  'user.code_asked': (_item, about) => `The password of ${about} was right, and a code was requested`,
  'user.sign_in_refused': (item, about) =>
    `A sign-in ${item.setting_key === 'user' ? 'of an unknown user' : `as ${about}`} failed: ${words(text(item.after, 'reason'))}`,
  'permission.refused': (item, about, who) =>
    `${who} was not permitted to ${words(text(item.after, 'operation'))}: ${about}`,
  'user.invite': (_item, about, who) => `${who} invited ${about}`,
  'person.split': (_item, about, who) => `${who} split a person of ${about}`,
  'person.erase': (_item, about, who) => `${who} erased a person of ${about}`,
  'site.erase': (_item, about, who) => `${who} erased ${about}`,
  'analyst.make': (_item, about, who) => `${who} created ${about}`,
  'analyst.revoke': (_item, about, who) => `${who} revoked ${about}`,
};

/** What was done beside facts, by the field that tells it. */
const DEEDS: readonly [field: string, sentence: (who: string, what: string, about: string) => string][] = [
  ['resend', (who, what) => `${who} resent ${what}`],
  ['resolve', (who, what) => `${who} resolved ${what}`],
  ['reopen', (who, what) => `${who} reopened ${what}`],
  ['cancel', (who) => `${who} ended a query`],
  ['base', (who) => `${who} loaded rates of currencies`],
  ['clear', (who) => `${who} took the rates of currencies back`],
  ['test', (who, _what, about) => `${who} sent a test event to ${about}`],
];

const ACTIONS: Readonly<Record<AuditItem['action'], string>> = {
  create: 'created',
  change: 'changed',
  delete: 'removed',
};

export function auditSentence(item: AuditItem): string {
  const { action, before, after } = item;
  const [who, about] = [whoDid(item.changed_by), aboutWhat(item)];
  if (before !== null && Object.keys(before).length === 0) {
    const done = DONE[text(after, 'done')];
    if (done !== undefined) return done(item, about, who);
    const deed = DEEDS.find(([field]) => after?.[field] !== undefined);
    if (deed !== undefined) return deed[1](who, deadLetters(after?.[deed[0]]), about);
  }
  if (action !== 'change') return `${who} ${ACTIONS[action]} ${about}`;
  const ended = endOf(item);
  return ended === null ? `${who} changed ${fieldsOf(item)} of ${about}` : `${who} ${ended} ${about}`;
}

/** Who made a change: a user by the id, a program by the label of its token. */
const whoDid = (changedBy: string): string =>
  changedBy.startsWith('user:') ? changedBy.slice('user:'.length) : changedBy;

function endOf({ before, after }: AuditItem): string | null {
  const isSet = (field: string): boolean => before?.[field] === null && typeof after?.[field] === 'number';
  if (isSet('revoked_at')) return 'revoked';
  return isSet('disabled_at') ? 'disabled' : null;
}

function fieldsOf({ before, after, secrets_changed }: AuditItem): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {}), ...secrets_changed])];
  if (names.length === 0) return 'nothing';
  const named = names.slice(0, FIELDS_NAMED_MAX).map((name) => FIELDS[name] ?? `the ${words(name)}`);
  const others = names.length - named.length;
  if (others > 0) return `${named.join(', ')} and ${others} more`;
  return named.length === 1 ? named.join('') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

function aboutWhat(item: AuditItem): string {
  const [kind = '', first = '', second = '', third = ''] = item.setting_key.split('/');
  const field = (name: string): string => text(item.after, name) || text(item.before, name);
  switch (kind) {
    case 'key': {
      const site = field('site_id');
      return `${startingWith('key', field('shown_prefix'))}${site === '' ? '' : ` of ${site}`}`;
    }
    case 'admin_token':
      return field('label') === '' ? 'a token' : `the token ${field('label')}`;
    case 'destination':
      return `the destination ${second} of ${first}`;
    case 'domain_proof':
      return `the domain ${second} of ${first}`;
    case 'engage':
    case 'saved':
      return `the ${second} ${field('name') || third} of ${first}`;
    case 'dead_letters':
      return 'dead letters';
    default:
      return first === '' ? words(kind) : `the ${words(kind)} ${first}`;
  }
}

const startingWith = (what: string, prefix: string): string => (prefix === '' ? `a ${what}` : `the ${what} ${prefix}…`);

function deadLetters(ids: unknown): string {
  const count = Array.isArray(ids) ? ids.length : 0;
  return count === 1 ? '1 dead letter' : `${count} dead letters`;
}

function text(fields: AuditItem['after'], name: string): string {
  const value = fields?.[name];
  return typeof value === 'string' ? value : '';
}

/** A name of the API as words: `time_zone` and `changeSite` are two each. */
const words = (name: string): string =>
  name
    .replaceAll('_', ' ')
    .replaceAll(/[A-Z]/g, (deadLetter) => ` ${deadLetter}`)
    .toLowerCase();
