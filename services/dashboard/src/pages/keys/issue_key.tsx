import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/secret_once.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { KeyFields } from './key_fields.tsx';
import { bodyOfKey, EMPTY_KEY, isSameKey, type KeyDraft } from './key_form.ts';

interface IssueKeyProps {
  siteId: string;
  onIssued(): void;
  onClose(): void;
}

const CALLERS = [
  { value: 'browser', label: 'Browsers: it stands in the pages' },
  { value: 'server', label: 'Servers: it is kept secret' },
];

/** Issues a key and shows it, once. */
export function IssueKey({ siteId, onIssued, onClose }: IssueKeyProps): VNode {
  const [caller, setCaller] = useState<KeyItem['caller']>('browser');
  const [draft, setDraft] = useState<KeyDraft>(EMPTY_KEY);
  const [issued, setIssued] = useState<IssuedKeyItem | null>(null);
  const action = useAction();
  const issue = async (event: Event): Promise<void> => {
    event.preventDefault();
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
      <form class="stack" onSubmit={(event) => void issue(event)}>
        <SelectField
          label="Who uses it"
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
