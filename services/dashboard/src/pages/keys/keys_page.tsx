import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedKeyItem, KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { listAll, request } from '../../api/request.ts';
import { useMutation, useQuery } from '../../api/use_answer.ts';
import { ConflictDialog, useEditForm } from '../../editing/editing.tsx';
import { ago, dateTime } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { type Column, DataTable, timeColumn } from '../../ui/data_table.tsx';
import { Confirm, Dialog, toast, useUnsaved } from '../../ui/dialog.tsx';
import { FormActions, SelectField, submitHandler } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { Badge, type BadgeKind, Empty, FailureNote, Panel, Shown } from '../../ui/panel.tsx';
import { KeyFields } from './key_fields.tsx';
import { bodyOfKey, draftOfKey, EMPTY_KEY, isSameKey, KEY_NAMES, type KeyDraft, OVERLAPS } from './key_form.ts';

const EVERY_MS = 30_000;

/** The keys of a site: who may send its events, from where, and when each was last used. */
export default function KeysPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const asked = useQuery(
    siteId,
    (signal) => listAll<KeyItem>('/v1/admin/keys', { site_id: siteId }, 10_000, signal),
    EVERY_MS,
  );
  const { query } = currentLocation.value;
  const mayChange = mayAt('keys.change', siteId);
  const chosen = keyNamed(asked.value?.items ?? [], query.get('key') ?? '');
  return (
    <div class="stack">
      <Panel
        title="API keys"
        note="Browser keys are public, as part of your pages; server keys are secret."
        actions={
          mayChange && (
            <button type="button" class="button primary" onClick={() => setQuery({ issue: '1' }, 'push')}>
              Issue a key
            </button>
          )
        }
      >
        <Shown asked={asked}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No keys yet">A key is needed to send events of this site.</Empty>
            ) : (
              <DataTable
                caption="Keys of the site"
                columns={COLUMNS}
                rows={items}
                keyOf={({ key_hash }) => key_hash}
                sortedBy={{ column: 'created', isDescending: true }}
                csvName="keys"
              />
            )
          }
        </Shown>
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

/** The key that an address names, by its hash or the beginning that events have of it. */
const keyNamed = (keys: readonly KeyItem[], named: string): KeyItem | undefined =>
  named.length < KEY_ID_CHARACTERS ? undefined : keys.find(({ key_hash }) => key_hash.startsWith(named));

const COLUMNS: readonly Column<KeyItem>[] = [
  {
    id: 'key',
    title: 'Key',
    value: ({ shown_prefix }) => shown_prefix,
    cell: ({ key_hash, shown_prefix }) => (
      <button type="button" class="link mono" onClick={() => setQuery({ key: key_hash }, 'push')}>
        {shown_prefix}…
      </button>
    ),
  },
  { id: 'label', title: 'Label', value: ({ label }) => label },
  { id: 'caller', title: 'Used by', value: ({ caller }) => (caller === 'browser' ? 'Browsers' : 'Servers') },
  {
    id: 'origins',
    title: 'Origins',
    value: ({ allowed_origins }) => allowed_origins.join(' '),
    cell: (key) => originsOf(key),
  },
  {
    id: 'used',
    title: 'Last used',
    value: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at }) =>
      last_used_at === null ? 'Unknown' : <span title={dateTime(last_used_at)}>{ago(last_used_at, Date.now())}</span>,
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => STATES[state].label,
    cell: (key) => <KeyState item={key} />,
  },
  timeColumn('created', 'Issued', ({ created_at }) => created_at),
];

interface IssueKeyProps {
  siteId: string;
  onIssued(): void;
  onClose(): void;
}

const CALLERS = [
  { value: 'browser', label: 'Browsers: public, in your pages' },
  { value: 'server', label: 'Servers: secret' },
];

/** Issues a key and shows it, once. */
function IssueKey({ siteId, onIssued, onClose }: IssueKeyProps): VNode {
  const [caller, setCaller] = useState<KeyItem['caller']>('browser');
  const [draft, setDraft] = useState<KeyDraft>(EMPTY_KEY);
  const [issued, setIssued] = useState<IssuedKeyItem | null>(null);
  const action = useMutation();
  const issue = async (): Promise<void> => {
    const { allowed_origins, ...rest } = bodyOfKey(draft);
    const body = { site_id: siteId, caller, ...rest, ...(caller === 'browser' && { allowed_origins }) };
    const answer = await action.run(() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body }));
    if (answer === null) return;
    setIssued(answer);
    onIssued();
  };
  if (issued !== null) {
    return <IssuedSecret secret={issued.secret} what="key" onClose={onClose} />;
  }
  return (
    <Dialog title="Issue a key" isChanged={!isSameKey(draft, EMPTY_KEY)} onClose={onClose}>
      <form class="stack" onSubmit={submitHandler(() => void issue())}>
        <SelectField
          label="Used by"
          value={caller}
          onValue={(value) => setCaller(value as KeyItem['caller'])}
          options={CALLERS}
        />
        <KeyFields caller={caller} draft={draft} failure={action.failure} onDraft={setDraft} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions action="Issue" disabled={action.isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

interface KeyDialogProps {
  item: KeyItem;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

const keyPath = (hash: string, what = ''): string => `/v1/admin/keys/${hash}${what}`;

/** One key: what it may, and changing, rotating and revoking it. */
function KeyDialog({ item, mayChange, onChanged, onClose }: KeyDialogProps): VNode {
  const [secret, setSecret] = useState<string | null>(null);
  const isActive = item.state === 'active';
  return (
    <Dialog title={`Key ${item.shown_prefix}…`} kind="side" onClose={onClose}>
      <div class="stack">
        <p>
          <KeyState item={item} />
        </p>
        <Facts item={item} />
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
      {secret !== null && <IssuedSecret secret={secret} what="new key" onClose={() => setSecret(null)} />}
    </Dialog>
  );
}

function Facts({ item }: { item: KeyItem }): VNode {
  const { label, caller, created_at, last_used_at, expires_at, revoked_at } = item;
  const moments = [
    ['Issued', created_at],
    ['Expires', expires_at],
    ['Revoked', revoked_at],
  ] as const;
  return (
    <dl class="facts">
      <dt>Label</dt>
      <dd>{label === '' ? 'None' : label}</dd>
      <dt>Used by</dt>
      <dd>{caller === 'browser' ? 'Browsers' : 'Servers'}</dd>
      <dt>Origins</dt>
      <dd>{originsOf(item)}</dd>
      <dt>Last used</dt>
      <dd>{last_used_at === null ? 'Unknown' : ago(last_used_at, Date.now())}</dd>
      {moments.map(([name, ms]) =>
        ms === null ? null : (
          <>
            <dt>{name}</dt>
            <dd>{dateTime(ms)}</dd>
          </>
        ),
      )}
    </dl>
  );
}

function ChangeKey({ item, onChanged }: Pick<KeyDialogProps, 'item' | 'onChanged'>): VNode {
  const path = keyPath(item.key_hash);
  const form = useEditForm<KeyItem, KeyDraft>({
    item,
    draftOf: draftOfKey,
    read: () => request('GET', path),
    write(draft, { caller, version }) {
      const { allowed_origins, ...rest } = bodyOfKey(draft);
      const body = { ...rest, ...(caller === 'browser' && { allowed_origins }) };
      return request('PATCH', path, { body, version });
    },
    onSaved() {
      toast('Saved the key');
      onChanged();
    },
    onTheirs: onChanged,
  });
  useUnsaved(form.isChanged);
  return (
    <form class="stack" onSubmit={submitHandler(() => void form.save())}>
      <KeyFields caller={item.caller} draft={form.draft} failure={form.failure} onDraft={form.edit} />
      {form.failure !== null && <FailureNote failure={form.failure} />}
      <div class="actions">
        <button type="submit" class="button" disabled={form.isBusy}>
          Save
        </button>
      </div>
      <ConflictDialog saving={form} what="this key" names={KEY_NAMES} />
    </form>
  );
}

function RotateKey({ item, onRotated }: { item: KeyItem; onRotated(rotated: RotatedKeyItem): void }): VNode {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0].value);
  const action = useMutation();
  const rotate = async (): Promise<void> => {
    const body = { overlap_ms: Number(overlap) };
    const rotated = await action.run(() =>
      request<RotatedKeyItem>('POST', keyPath(item.key_hash, '/rotate'), { body }),
    );
    if (rotated !== null) onRotated(rotated);
  };
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
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button type="button" class="button primary" disabled={action.isBusy} onClick={() => void rotate()}>
          Rotate
        </button>
      </div>
    </section>
  );
}

function RevokeKey({ item, onChanged }: Pick<KeyDialogProps, 'item' | 'onChanged'>): VNode {
  const [asks, setAsks] = useState(false);
  const action = useMutation();
  const revoke = async (): Promise<void> => {
    const revoked = await action.run(() => request<KeyItem>('POST', keyPath(item.key_hash, '/revoke')));
    if (revoked === null) return;
    setAsks(false);
    toast('The key was revoked');
    onChanged();
  };
  return (
    <div class="actions spread">
      <button type="button" class="button danger" onClick={() => setAsks(true)}>
        Revoke
      </button>
      {asks && (
        <Confirm
          title="Revoke the key?"
          action="Revoke"
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() => void revoke()}
          onClose={() => setAsks(false)}
        >
          <p>
            It stops working immediately and permanently.
            {item.last_used_at !== null && ` It was last used ${ago(item.last_used_at, Date.now())}.`}
          </p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </div>
  );
}

/** What the states of keys are called, and how they look. */
const STATES: Readonly<Record<KeyItem['state'], { label: string; badge: BadgeKind }>> = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
};

/** Whether a key works, and until when. */
function KeyState({ item }: { item: KeyItem }): VNode {
  const { state, expires_at } = item;
  return (
    <>
      <Badge kind={STATES[state].badge}>{STATES[state].label}</Badge>
      {state === 'active' && expires_at !== null && <span class="muted small"> until {dateTime(expires_at)}</span>}
    </>
  );
}

/** Where a key may be used, in a few words. */
function originsOf({ caller, allowed_origins: origins }: KeyItem): string {
  if (caller === 'server') return 'Servers only';
  const [first] = origins;
  if (first === undefined) return 'Any page';
  return origins.length === 1 ? first : `${first} and ${origins.length - 1} more`;
}
