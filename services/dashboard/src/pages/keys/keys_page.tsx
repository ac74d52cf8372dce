import { useState } from 'preact/hooks';
import type { TopQuery } from '#pipelines/analytics/top.ts';
import type { IssuedKeyItem, KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { ask, request } from '../../api/request.ts';
import { useList, useMutation, useQuery } from '../../api/use_answer.ts';
import { EditForm, useEditForm } from '../../editing/editing.tsx';
import { ago, dateTime, events } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton, CreateDialog } from '../../ui/confirm_action.tsx';
import { AskedTable, agoColumn, type Column, openColumn, timeColumn } from '../../ui/data_table.tsx';
import { Dialog, useUnsaved } from '../../ui/dialog.tsx';
import { SelectField, useDraft } from '../../ui/form_fields.tsx';
import { CopyButton, IssuedSecret, siteAddress } from '../../ui/identifiers.tsx';
import { Facts, FailureNote, Loading, Panel, StateBadge, type StateLook } from '../../ui/panel.tsx';
import {
  bodyOfKey,
  draftOfKey,
  EMPTY_KEY,
  isSameKey,
  KEY_NAMES,
  type KeyDraft,
  KeyFields,
  OVERLAPS,
} from './key_fields.tsx';

const EVERY_MS = 30_000;

export default function KeysPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const asked = useList<KeyItem>('/v1/admin/keys', { site_id: siteId }, EVERY_MS);
  const { query } = currentLocation.value;
  const mayChange = mayAt('keys.change', siteId);
  const chosen = keyNamed(asked.value?.items ?? [], query.get('key') ?? '');
  return (
    <div class="stack">
      <Panel
        title="API keys"
        note="Browser keys are public, as part of your pages; server keys are secret."
        actions={
          mayChange && <Button kind="primary" label="Issue a key" onClick={() => setQuery({ issue: '1' }, 'push')} />
        }
      >
        <AskedTable
          asked={asked}
          caption="Keys of the site"
          columns={COLUMNS}
          keyOf={({ key_hash }) => key_hash}
          sortedBy={{ column: 'created', isDescending: true }}
          csvName="keys"
          emptyText="No keys yet"
          emptyHint="A key is needed to send events of this site."
        />
      </Panel>
      {chosen !== undefined && (
        <KeyDialog
          key={chosen.key_hash}
          item={chosen}
          mayChange={mayChange}
          onChanged={asked.again}
          onClose={() => setQuery({ key: null }, 'push')}
        />
      )}
      {query.get('issue') !== null && mayChange && (
        <IssueKey siteId={siteId} onIssued={asked.again} onClose={() => setQuery({ issue: null }, 'push')} />
      )}
    </div>
  );
}

/** Events name their key by so much of its hash. */
const KEY_ID_CHARACTERS = 16;

const keyIdOf = ({ key_hash }: KeyItem): string => key_hash.slice(0, KEY_ID_CHARACTERS);

/** The key that an address names, by its hash or the beginning that events have of it. */
const keyNamed = (keys: readonly KeyItem[], named: string): KeyItem | undefined =>
  named.length < KEY_ID_CHARACTERS ? undefined : keys.find(({ key_hash }) => key_hash.startsWith(named));

const COLUMNS: readonly Column<KeyItem>[] = [
  openColumn({
    ...{ id: 'key', title: 'Key', look: 'mono', value: ({ shown_prefix }) => shown_prefix },
    shown: ({ shown_prefix }) => `${shown_prefix}…`,
    open: ({ key_hash }) => setQuery({ key: key_hash }, 'push'),
  }),
  { id: 'label', title: 'Label', value: ({ label }) => label },
  { id: 'caller', title: 'Used by', value: callersOf },
  { id: 'origins', title: 'Origins', value: ({ allowed_origins }) => allowed_origins.join(' '), cell: originsOf },
  agoColumn('used', 'Last used', ({ last_used_at }) => last_used_at, 'Unknown'),
  { id: 'state', title: 'State', value: ({ state }) => STATES[state].label, cell: (key) => <KeyState item={key} /> },
  timeColumn('created', 'Issued', ({ created_at }) => created_at),
];

const CALLERS = [
  { value: 'browser', label: 'Browsers: public, in your pages' },
  { value: 'server', label: 'Servers: secret' },
];

/** What is sent of a form: only browser keys have origins. */
function bodyFor(draft: KeyDraft, caller: KeyItem['caller']): object {
  const { allowed_origins, ...rest } = bodyOfKey(draft);
  return { ...rest, ...(caller === 'browser' && { allowed_origins }) };
}

function IssueKey({ siteId, onIssued, onClose }: { siteId: string; onIssued(): void; onClose(): void }) {
  const [caller, setCaller] = useState<KeyItem['caller']>('browser');
  const { draft, edit } = useDraft<KeyDraft>(EMPTY_KEY);
  const body = { site_id: siteId, caller, ...bodyFor(draft, caller) };
  return (
    <CreateDialog
      title="Issue a key"
      action="Issue"
      isChanged={!isSameKey(draft, EMPTY_KEY)}
      run={() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body })}
      onMade={onIssued}
      onClose={onClose}
      issued={({ secret, key }) => (
        <IssuedSecret secret={secret} what="key" isPublic={key.public_key !== null} onClose={onClose} />
      )}
    >
      {(failure) => (
        <>
          <SelectField
            label="Used by"
            value={caller}
            onValue={(value) => setCaller(value as KeyItem['caller'])}
            options={CALLERS}
          />
          <KeyFields caller={caller} draft={draft} failure={failure} edit={edit} />
        </>
      )}
    </CreateDialog>
  );
}

interface KeyDialogProps {
  item: KeyItem;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

const keyPath = (hash: string, what = ''): string => `/v1/admin/keys/${hash}${what}`;

function KeyDialog({ item, mayChange, onChanged, onClose }: KeyDialogProps) {
  const [secret, setSecret] = useState<string | null>(null);
  const isActive = item.state === 'active';
  return (
    <Dialog title={`Key ${item.shown_prefix}…`} kind="side" onClose={onClose}>
      <div class="stack">
        <p>
          <KeyState item={item} />
        </p>
        <KeyFacts item={item} />
        {mayAt('query.aggregates', item.site_id) && <SentFrom item={item} />}
        {mayAt('query.events', item.site_id) && (
          <p>
            <a href={siteAddress(item.site_id, 'live', { key: keyIdOf(item) })}>Live events with this key</a>
          </p>
        )}
        {mayChange && isActive && (
          <>
            <ChangeKey item={item} onChanged={onChanged} />
            <hr />
            <RotateKey
              item={item}
              onRotated={(rotated) => {
                setSecret(rotated.secret);
                onChanged();
              }}
            />
            <hr />
            <RevokeKey item={item} onChanged={onChanged} />
          </>
        )}
      </div>
      {secret !== null && (
        <IssuedSecret
          secret={secret}
          what="new key"
          isPublic={item.caller === 'browser'}
          onClose={() => setSecret(null)}
        />
      )}
    </Dialog>
  );
}

const PublicKey = ({ text }: { text: string }) => (
  <span class="row">
    <code class="wraps">{text}</code>
    <CopyButton text={text} what="key" />
  </span>
);

function KeyFacts({ item }: { item: KeyItem }) {
  const { label, created_at, last_used_at, expires_at, revoked_at, public_key } = item;
  return (
    <Facts
      facts={[
        ['Label', label === '' ? 'None' : label],
        public_key !== null && ['Key', <PublicKey key="key" text={public_key} />],
        ['Used by', callersOf(item)],
        ['Origins', originsOf(item)],
        ['Last used', last_used_at === null ? 'Unknown' : ago(last_used_at, Date.now())],
        ['Issued', dateTime(created_at)],
        expires_at !== null && ['Expires', dateTime(expires_at)],
        revoked_at !== null && ['Revoked', dateTime(revoked_at)],
      ]}
    />
  );
}

const WEEK_MS = 7 * 86_400_000;
const PLACES_MAX = 10;

/** Where a key's events come from: the hosts of the pages that a browser's are sent on, else what servers send of. */
export const sentFrom = (item: KeyItem, nowMs: number): TopQuery => ({
  ...{ from: nowMs - WEEK_MS, to: nowMs, limit: PLACES_MAX },
  field: item.caller === 'browser' ? { property: ['$current_url'], part: 'host' } : { column: 'action_source' },
  filters: [{ field: { column: 'key_id' }, is: 'equal', to: [keyIdOf(item)] }],
});

function SentFrom({ item }: { item: KeyItem }) {
  const asked = useQuery(item.key_hash, (signal) => ask(item.site_id, 'top', sentFrom(item, Date.now()), signal));
  if (asked.value === null) return asked.failure === null ? <Loading lines={2} /> : <FailureNote {...asked} />;
  const { values, other } = asked.value;
  return (
    <section class="stack-small" aria-labelledby="sent-from">
      <h3 id="sent-from">{item.caller === 'browser' ? 'Pages it was used on' : 'What it was used for'}, 7 days</h3>
      {values.length === 0 && <p class="muted">No events.</p>}
      <ul class="stack-small">
        {values.map(({ value, events: count }) => (
          <li key={value} class="wraps">
            {value === '' ? 'without $current_url' : <code>{value}</code>}: {events(count)}
          </li>
        ))}
        {other !== null && (
          <li>
            {other.values} others: {events(other.events)}
          </li>
        )}
      </ul>
    </section>
  );
}

function ChangeKey({ item, onChanged }: Pick<KeyDialogProps, 'item' | 'onChanged'>) {
  const path = keyPath(item.key_hash);
  const form = useEditForm<KeyItem, KeyDraft>({
    item,
    draftOf: draftOfKey,
    read: () => request('GET', path),
    write: (draft, { caller, version }) => request('PATCH', path, { body: bodyFor(draft, caller), version }),
    said: 'Saved the key',
    onDone: onChanged,
  });
  useUnsaved(form.isChanged);
  return (
    <EditForm form={form} kind={null} mayBeUnchanged what="this key" names={KEY_NAMES}>
      <KeyFields caller={item.caller} draft={form.draft} failure={form.failure} edit={form.edit} />
    </EditForm>
  );
}

function RotateKey({ item, onRotated }: { item: KeyItem; onRotated(rotated: RotatedKeyItem): void }) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0].value);
  const action = useMutation();
  const body = { overlap_ms: Number(overlap) };
  const rotate = () => request<RotatedKeyItem>('POST', keyPath(item.key_hash, '/rotate'), { body });
  return (
    <section class="stack" aria-labelledby="rotate">
      <h3 id="rotate">Replace with a new key</h3>
      <SelectField
        label="The old key keeps working for"
        value={overlap}
        onValue={setOverlap}
        options={OVERLAPS}
        hint="Switch to the new key within this time."
      />
      <FailureNote failure={action.failure} />
      <div class="actions">
        <Button kind="primary" label="Rotate" disabled={action.isBusy} onClick={() => action.run(rotate, onRotated)} />
      </div>
    </section>
  );
}

const RevokeKey = ({ item, onChanged }: Pick<KeyDialogProps, 'item' | 'onChanged'>) => (
  <div class="actions spread">
    <ConfirmButton
      title="Revoke the key?"
      action="Revoke"
      run={() => request<KeyItem>('POST', keyPath(item.key_hash, '/revoke'))}
      said="The key was revoked"
      onDone={onChanged}
    >
      It stops working immediately and permanently.
      {item.last_used_at !== null && ` It was last used ${ago(item.last_used_at, Date.now())}.`}
    </ConfirmButton>
  </div>
);

const STATES: Readonly<Record<KeyItem['state'], StateLook>> = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
};

function KeyState({ item }: { item: KeyItem }) {
  const { state, expires_at } = item;
  return (
    <>
      <StateBadge of={STATES[state]} />
      {state === 'active' && expires_at !== null && <span class="muted small"> until {dateTime(expires_at)}</span>}
    </>
  );
}

function callersOf({ caller }: KeyItem): string {
  return caller === 'browser' ? 'Browsers' : 'Servers';
}

function originsOf({ caller, allowed_origins: origins }: KeyItem): string {
  if (caller === 'server') return 'Servers only';
  const [first] = origins;
  if (first === undefined) return 'Any page';
  return origins.length === 1 ? first : `${first} and ${origins.length - 1} more`;
}
