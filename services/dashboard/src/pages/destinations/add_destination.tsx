import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { CheckField, SelectField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { SettingFields } from './setting_fields.tsx';
import { changeOf, draftOf, type Kind, settingFields } from './setting_form.ts';

interface AddDestinationProps {
  siteId: string;
  /** Kinds that the site does not have yet. */
  kinds: readonly Kind[];
  onAdded(name: string): void;
  onClose(): void;
}

/** Sends the events of a site to one more place. */
export function AddDestination({ siteId, kinds, onAdded, onClose }: AddDestinationProps): VNode {
  const [name, setName] = useState(kinds[0]?.name ?? '');
  const kind = kinds.find((one) => one.name === name);
  return (
    <Dialog title="Add a destination" onClose={onClose}>
      {kind === undefined ? (
        <p class="muted">The site has a destination of every kind already, and can have one of each.</p>
      ) : (
        <div class="stack">
          <p class="muted">A site has one destination of each kind; those that it has are not offered.</p>
          <SelectField
            label="Platform"
            value={name}
            onValue={setName}
            options={kinds.map((one) => ({ value: one.name, label: one.title }))}
          />
          <NewSettings key={name} siteId={siteId} kind={kind} onAdded={onAdded} onClose={onClose} />
        </div>
      )}
    </Dialog>
  );
}

function NewSettings({ siteId, kind, onAdded, onClose }: Omit<AddDestinationProps, 'kinds'> & { kind: Kind }): VNode {
  const fields = settingFields(kind);
  const [draft, setDraft] = useState(() => draftOf(fields, null));
  const [enabled, setEnabled] = useState(false);
  const action = useAction();
  useUnsaved(Object.keys(changeOf(fields, draft, null)).length > 0);
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = { name: kind.name, enabled, ...changeOf(fields, draft, null) };
    const path = `/v1/admin/sites/${encodeURIComponent(siteId)}/destinations`;
    const added = await action.run(() => request<DestinationItem>('POST', path, { body }));
    if (added === null) return;
    toast(`${kind.title} was added`);
    onAdded(added.name);
  };
  return (
    <form class="stack" onSubmit={(event) => void add(event)}>
      <SettingFields fields={fields} draft={draft} stored={[]} failure={action.failure} onDraft={setDraft} />
      <CheckField
        label="Send events at once"
        checked={enabled}
        onChecked={setEnabled}
        hint="Off, a test event can be sent first; it is switched on at the destination then."
      />
      {action.failure !== null && <FailureNote failure={action.failure} />}
      <FormActions action="Add" disabled={action.isBusy} onClose={onClose} />
    </form>
  );
}
