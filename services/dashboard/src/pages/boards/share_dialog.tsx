import { useState } from 'preact/hooks';
import type { MadeShare, ShareItem } from '#services/control_api/queries.ts';
import { request, sitePath } from '../../api/request.ts';
import { useList } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmAction, CreateDialog } from '../../ui/confirm_action.tsx';
import { AskedTable, actionColumn, type Column, numberColumn, stateColumn } from '../../ui/data_table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { CopyButton, IssuedSecret } from '../../ui/identifiers.tsx';

interface ShareDialogProps {
  siteId: string;
  kind: ShareItem['kind'];
  item: { id: string; name: string };
  onClose(): void;
}

const STATES = {
  active: { label: 'Active', badge: 'good' },
  expired: { label: 'Expired', badge: 'plain' },
  revoked: { label: 'Revoked', badge: 'bad' },
} as const;

/** The links of a board or a saved query, and the way to make another. */
export function ShareDialog({ siteId, kind, item, onClose }: ShareDialogProps) {
  const path = sitePath(siteId, 'shares');
  const asked = useList<ShareItem>(path);
  const [makes, setMakes] = useState(false);
  const [revoked, setRevoked] = useState<ShareItem | null>(null);
  const isOfItem = (link: ShareItem): boolean => link.kind === kind && link.item_id === item.id;
  const own = asked.value && { ...asked.value, items: asked.value.items.filter(isOfItem) };
  return (
    <Dialog title={`Share “${item.name}”`} kind="wide" onClose={onClose}>
      <div class="stack">
        <p>
          Anyone who has a link sees {kind === 'board' ? 'this board as it is then' : 'this query'}, without signing in:
          figures only, never single people. Links end by themselves and can be revoked.
        </p>
        <AskedTable
          asked={{ ...asked, value: own }}
          caption="Links"
          columns={columnsOf(setRevoked)}
          keyOf={({ link_id }) => link_id}
          emptyText="No links yet"
        />
        <div class="actions">
          <Button kind="primary" label="Create a link" onClick={() => setMakes(true)} />
        </div>
      </div>
      {makes && <NewLink path={path} kind={kind} item={item} onMade={asked.again} onClose={() => setMakes(false)} />}
      {revoked !== null && (
        <ConfirmAction
          title={`Revoke the link “${revoked.name}”?`}
          action="Revoke"
          run={() => request<ShareItem>('POST', `${path}/${revoked.link_id}/revoke`)}
          said={`The link “${revoked.name}” was revoked`}
          onDone={asked.again}
          onClose={() => setRevoked(null)}
        >
          It stops working immediately and permanently, also where it is embedded.
        </ConfirmAction>
      )}
    </Dialog>
  );
}

const columnsOf = (revoke: (link: ShareItem) => void): readonly Column<ShareItem>[] => [
  { id: 'name', title: 'Name', value: ({ name }) => name },
  stateColumn('state', 'State', ({ state }) => STATES[state]),
  { id: 'shows', title: 'Shows', value: ({ last_days }) => periodOf(last_days) },
  { id: 'embed', title: 'Embedding', value: ({ may_embed }) => (may_embed ? 'Allowed' : 'No') },
  numberColumn('opened', 'Opened', ({ opened }) => opened),
  {
    ...{ id: 'last', title: 'Last opened', value: ({ last_opened_at }) => last_opened_at },
    cell: ({ last_opened_at }) => (last_opened_at === null ? '–' : dateTime(last_opened_at)),
  },
  {
    ...{ id: 'ends', title: 'Ends', value: ({ expires_at }) => expires_at },
    cell: ({ expires_at }) => dateTime(expires_at),
  },
  { id: 'by', title: 'Made by', value: ({ created_by }) => created_by },
  actionColumn({
    label: 'Revoke',
    nameOf: ({ name }) => `Revoke the link ${name}`,
    isFor: ({ state }) => state === 'active',
    act: revoke,
  }),
];

const periodOf = (days: number | null): string => {
  if (days === null) return 'As saved';
  return days === 1 ? 'Today' : `Last ${days} days`;
};

const PERIODS = ['30', '7', '90', '365', '1', ''].map((value) => ({
  value,
  label: periodOf(value === '' ? null : Number(value)),
}));
const LIVES = ['30', '7', '90', '365'].map((value) => ({ value, label: `${value} days` }));

interface NewLinkProps extends Omit<ShareDialogProps, 'siteId'> {
  path: string;
  onMade(): void;
}

function NewLink({ path, kind, item, onMade, onClose }: NewLinkProps) {
  const { draft, edit, isChanged, field } = useDraft({ name: '', period: '30', days: '30', embeds: false });
  const body = {
    ...{ kind, item_id: item.id, name: draft.name.trim(), may_embed: draft.embeds, days: Number(draft.days) },
    last_days: draft.period === '' ? null : Number(draft.period),
  };
  return (
    <CreateDialog
      title="Create a link"
      action="Create"
      isChanged={isChanged}
      run={() => request<MadeShare>('POST', path, { body })}
      onMade={onMade}
      onClose={onClose}
      issued={({ path: address, share }) => (
        <MadeLink address={location.origin + address} share={share} title={item.name} onClose={onClose} />
      )}
    >
      {(failure) => (
        <>
          <TextField
            label="Name"
            required
            hint="Who it is for. Only you and your team see it."
            {...field(failure)('name')}
          />
          <SelectField label="Shows" options={PERIODS} {...field(failure)('period', 'last_days')} />
          <SelectField label="Ends after" options={LIVES} {...field(failure)('days')} />
          <CheckField
            label="May be embedded"
            hint="In pages of the origins that the settings of the site list."
            checked={draft.embeds}
            onChecked={(embeds) => edit({ embeds })}
          />
        </>
      )}
    </CreateDialog>
  );
}

interface MadeLinkProps {
  address: string;
  share: ShareItem;
  title: string;
  onClose(): void;
}

function MadeLink({ address, share, title, onClose }: MadeLinkProps) {
  const snippet = frameOf(address, title);
  return (
    <IssuedSecret secret={address} what="link" title="The link was created" onClose={onClose}>
      {share.may_embed && (
        <div class="stack-small">
          <p>To embed it, put this into a page of an origin that the settings of the site list:</p>
          <div class="secret">
            <code>{snippet}</code>
            <CopyButton text={snippet} what="snippet" />
          </div>
        </div>
      )}
    </IssuedSecret>
  );
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };

const frameOf = (address: string, title: string): string =>
  `<iframe src="${address}" title="${title.replace(/[&"<>]/g, (one) => ENTITIES[one] ?? '')}" width="100%" height="600" loading="lazy" referrerpolicy="no-referrer" style="border:0"></iframe>`;
