import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';
import { listAll } from '../../api/lists.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { askedWhere, useAnswer } from '../../api/use_answer.ts';
import { addressOf } from '../../router.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { originLines } from '../keys/key_form.ts';
import { OriginsField } from '../keys/origins_field.tsx';
import { isBrowserKey } from './snippet.ts';

interface ChooseKeyProps {
  siteId: string;
  value: string;
  /** Origins that the pages of the site likely have. */
  origins: readonly string[];
  onValue(key: string): void;
}

/** A browser key for the line: one that is pasted, as keys are shown once, or a new one. */
export function ChooseKey({ siteId, value, origins, onValue }: ChooseKeyProps): VNode {
  const [isAsked, setAsked] = useState(false);
  const [issued, setIssued] = useState<string | null>(null);
  const query = { site_id: siteId };
  const asked = useAnswer(
    siteId,
    askedWhere(mayAt('keys.read', siteId), (signal) => listAll<KeyItem>('/v1/admin/keys', query, 1_000, signal)),
  );
  const keys = asked.value?.items.filter(({ caller, state }) => caller === 'browser' && state === 'active') ?? null;
  const given = value.trim();
  return (
    <div class="stack narrow">
      <p>
        A key is shown once, when it is issued; only its hash is stored, so that no line can be made of it later. Paste
        it out of a page that has it, or issue another one: the old one goes on working.
      </p>
      {keys !== null && keys.length > 0 && <Existing keys={keys} />}
      {asked.failure !== null && <FailureNote failure={asked.failure} again={asked.again} />}
      <TextField
        label="Browser key"
        placeholder="svc_pk_…"
        autocomplete="off"
        hint={
          issued !== null && given === issued
            ? 'It is new, and public: it stands in the pages. It is shown this once.'
            : 'It begins with svc_pk_.'
        }
        problem={problemOfKey(given, issued, keys)}
        value={value}
        onValue={onValue}
      />
      <p class="row">
        {mayAt('keys.change', siteId) && (
          <button type="button" class="button" onClick={() => setAsked(true)}>
            Issue a key
          </button>
        )}
        <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/keys`)}>All keys</a>
      </p>
      {isAsked && (
        <IssueHere
          siteId={siteId}
          offered={origins}
          onIssued={(secret) => {
            setIssued(secret);
            setAsked(false);
            onValue(secret);
            asked.again();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

function problemOfKey(given: string, issued: string | null, keys: readonly KeyItem[] | null): string {
  if (given === '' || given === issued) return '';
  if (!isBrowserKey(given)) return 'A browser key begins with svc_pk_.';
  const isOfSite = keys?.some(({ shown_prefix }) => given.startsWith(shown_prefix)) ?? true;
  return isOfSite ? '' : 'This is no browser key of this site that works.';
}

function Existing({ keys }: { keys: readonly KeyItem[] }): VNode {
  return (
    <div class="stack-small">
      <p>You have {keys.length === 1 ? 'this one' : 'these'}: paste it here.</p>
      <ul class="stack-small">
        {keys.map(({ key_hash, shown_prefix, label }) => (
          <li key={key_hash} class="wraps">
            <code>{shown_prefix}…</code> {label}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface IssueHereProps {
  siteId: string;
  offered: readonly string[];
  onIssued(secret: string): void;
  onClose(): void;
}

function IssueHere({ siteId, offered, onIssued, onClose }: IssueHereProps): VNode {
  const [origins, setOrigins] = useState('');
  const action = useAction();
  const issue = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = { site_id: siteId, caller: 'browser', label: 'Web pages', allowed_origins: originLines(origins) };
    const answer = await action.run(() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body }));
    if (answer !== null) onIssued(answer.secret);
  };
  return (
    <Dialog title="Issue a key for the pages" isChanged={origins !== ''} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void issue(event)}>
        <OriginsField value={origins} offered={offered} failure={action.failure} onValue={setOrigins} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions action="Issue" disabled={action.isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
