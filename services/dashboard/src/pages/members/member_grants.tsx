import { useId, useState } from 'preact/hooks';
import type { SessionList, UserItem } from '#services/control_api/users.ts';
import { type ApiResult, apiPath, request } from '../../api/request.ts';
import { dateTime } from '../../format.ts';
import { currentUser } from '../../session.ts';
import { sites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { actionColumn, agoColumn, type Column, DataTable, timeColumn } from '../../ui/data_table.tsx';
import { SelectField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/identifiers.tsx';
import { Badge } from '../../ui/panel.tsx';
import * as access from './grants.ts';

interface GrantListProps {
  label: string;
  permission: 'users.manage' | 'tokens.manage';
  grants: readonly access.GrantItem[];
  onGrants(grants: access.GrantItem[]): void;
}

export function GrantList({ label, permission, grants, onGrants }: GrantListProps) {
  const id = useId();
  const giver = currentUser.value?.grants ?? [];
  const known = sites.value ?? [];
  return (
    <section class="stack-small" aria-labelledby={id}>
      <h3 id={id}>{label}</h3>
      {grants.length === 0 ? (
        <p class="muted">None</p>
      ) : (
        <ul class="lines">
          {grants.map((grant) => (
            <li key={`${grant.role} ${access.placeValue(grant)}`}>
              <span>{access.grantText(grant)}</span>
              {access.isGivable(giver, grant, permission, known) ? (
                <Button
                  kind="small quiet"
                  label="Remove"
                  aria-label={`Remove ${access.grantText(grant)}`}
                  onClick={() => onGrants(grants.filter((one) => !access.isSame(one, grant)))}
                />
              ) : (
                <span class="muted small">You cannot remove this</span>
              )}
            </li>
          ))}
        </ul>
      )}
      <OneMore
        permission={permission}
        onGrant={(grant) => onGrants([...grants.filter((one) => !access.isSame(one, grant)), grant])}
      />
    </section>
  );
}

function OneMore({
  permission,
  onGrant,
}: Pick<GrantListProps, 'permission'> & { onGrant(grant: access.GrantItem): void }) {
  const giver = currentUser.value?.grants ?? [];
  const known = sites.value ?? [];
  const places = access.placeOptions(giver, permission, known);
  const [chosenPlace, setPlace] = useState<string | null>(null);
  const [chosenRole, setRole] = useState('viewer');
  const place = chosenPlace ?? places.at(-1)?.value ?? '';
  const roles = access.roleOptions(giver, place, permission, known);
  const role = roles.some(({ value }) => value === chosenRole) ? chosenRole : (roles[0]?.value ?? '');
  return (
    <div class="form-row">
      <SelectField label="Scope" options={places} value={place} onValue={setPlace} />
      <SelectField label="Role" options={roles} value={role} onValue={setRole} />
      <div class="field-button">
        <Button label="Add role" disabled={role === ''} onClick={() => onGrant(access.grantAt(role, place))} />
      </div>
    </div>
  );
}

type SessionItem = SessionList['items'][number];

interface SessionTableProps {
  sessions: readonly SessionItem[];
  /** Ends one of them; left out where single ones cannot be ended. */
  onEnd?: (session: SessionItem) => unknown;
  isBusy?: boolean;
}

export function SessionTable({ sessions, onEnd, isBusy = false }: SessionTableProps) {
  const ending =
    onEnd !== undefined &&
    actionColumn<SessionItem>({
      label: 'End',
      nameOf: ({ browser, created_at }) => `End the session of ${browser}, started ${dateTime(created_at)}`,
      isFor: ({ current }) => !current,
      disabled: isBusy,
      act: onEnd,
    });
  return (
    <DataTable
      caption="Active sessions"
      columns={[...COLUMNS, ending]}
      rows={sessions}
      keyOf={({ id }) => id}
      emptyText="No active sessions"
    />
  );
}

const COLUMNS: readonly Column<SessionItem>[] = [
  {
    ...{ id: 'browser', title: 'Browser', value: ({ browser }) => browser },
    cell: ({ browser, current }) => (
      <>
        {browser} {current && <Badge kind="good">Current</Badge>}
      </>
    ),
  },
  { id: 'network', title: 'From', value: ({ network }) => network },
  agoColumn('seen', 'Last used', ({ seen_at }) => seen_at),
  timeColumn('began', 'Started', ({ created_at }) => created_at),
];

interface HandoverNoteProps {
  title: string;
  userId: string;
  password: string;
  onClose(): void;
}

export const HandoverNote = ({ title, userId, password, onClose }: HandoverNoteProps) => (
  <IssuedSecret title={title} secret={password} what="password" onClose={onClose}>
    <p>
      Give it to <code>{userId}</code>, who can change it under Account, You.
    </p>
  </IssuedSecret>
);

export const browserBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

/** The path of a user in the API, or of something of theirs. */
export const userPath = (userId: string, ...parts: string[]): string => apiPath('admin', 'users', userId, ...parts);

export interface MemberChange {
  name?: string;
  grants?: readonly UserItem['grants'][number][];
  disabled?: boolean;
  password?: string;
  second_factor?: false;
  revoke_issued?: true;
}

export const readMember = (userId: string): Promise<ApiResult<UserItem>> => request('GET', userPath(userId));

export const changeMember = ({ user_id, version }: UserItem, body: MemberChange): Promise<ApiResult<UserItem>> =>
  request('PATCH', userPath(user_id), { body, version });
