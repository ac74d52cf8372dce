import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyItem, RotatedKeyItem } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { ago, dateTime } from '../../format.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/secret_once.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { KeyFields } from './key_fields.tsx';
import { bodyOfKey, draftOfKey, KEY_NAMES, type KeyDraft, OVERLAPS } from './key_form.ts';
import { KeyState, originsOf } from './key_state.tsx';

interface KeyDialogProps {
  item: KeyItem;
  mayChange: boolean;
  onChanged(): void;
  onClose(): void;
}

const keyPath = (hash: string, what = ''): string => `/v1/admin/keys/${hash}${what}`;

/** One key: what it may, and changing, rotating and revoking it. */
export function KeyDialog({ item, mayChange, onChanged, onClose }: KeyDialogProps): VNode {
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
    ['Ends', expires_at],
    ['Revoked', revoked_at],
  ] as const;
  return (
    <dl class="facts">
      <dt>Label</dt>
      <dd>{label === '' ? 'None' : label}</dd>
      <dt>For</dt>
      <dd>{caller === 'browser' ? 'Browsers' : 'Servers'}</dd>
      <dt>From</dt>
      <dd>{originsOf(item)}</dd>
      <dt>Last used</dt>
      <dd>{last_used_at === null ? 'Not known' : ago(last_used_at, Date.now())}</dd>
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
  const form = useEditing<KeyItem, KeyDraft>({
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
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void form.save();
      }}
    >
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
  const action = useAction();
  const rotate = async (): Promise<void> => {
    const body = { overlap_ms: Number(overlap) };
    const rotated = await action.run(() =>
      request<RotatedKeyItem>('POST', keyPath(item.key_hash, '/rotate'), { body }),
    );
    if (rotated !== null) onRotated(rotated);
  };
  return (
    <section class="stack" aria-labelledby="rotate">
      <h3 id="rotate">Replace it by a new key</h3>
      <SelectField
        label="The old one goes on working for"
        value={overlap}
        onValue={setOverlap}
        options={OVERLAPS}
        hint="Put the new key into use within this time, and nothing is lost."
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
  const action = useAction();
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
            It stops at once and for good: whoever uses it is refused.
            {item.last_used_at !== null && ` It was last used ${ago(item.last_used_at, Date.now())}.`}
          </p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </div>
  );
}
