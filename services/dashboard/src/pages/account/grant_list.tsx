import type { VNode } from 'preact';
import { useId, useState } from 'preact/hooks';
import { sites } from '../../site_list.ts';
import { SelectField } from '../../ui/form_fields.tsx';
import { who } from '../../who.ts';
import {
  type GrantItem,
  grantAt,
  grantText,
  isGivable,
  isSame,
  placeOptions,
  placeValue,
  roleOptions,
} from './grant_form.ts';

interface GrantListProps {
  label: string;
  permission: 'users.manage' | 'tokens.manage';
  grants: readonly GrantItem[];
  onGrants(grants: GrantItem[]): void;
}

/** Roles in places: those that are given, each to be taken away, and fields for one more. */
export function GrantList({ label, permission, grants, onGrants }: GrantListProps): VNode {
  const id = useId();
  const giver = who.value?.grants ?? [];
  const known = sites.value ?? [];
  return (
    <section class="stack-small" aria-labelledby={id}>
      <h3 id={id}>{label}</h3>
      {grants.length === 0 ? (
        <p class="muted">None</p>
      ) : (
        <ul class="lines">
          {grants.map((grant) => (
            <li key={`${grant.role} ${placeValue(grant)}`}>
              <span>{grantText(grant)}</span>
              {isGivable(giver, grant, permission, known) ? (
                <button
                  type="button"
                  class="button small quiet"
                  aria-label={`Take away: ${grantText(grant)}`}
                  onClick={() => onGrants(grants.filter((one) => !isSame(one, grant)))}
                >
                  Take away
                </button>
              ) : (
                <span class="muted small">Not yours to take away</span>
              )}
            </li>
          ))}
        </ul>
      )}
      <OneMore
        permission={permission}
        onGrant={(grant) => onGrants([...grants.filter((one) => !isSame(one, grant)), grant])}
      />
    </section>
  );
}

/** A role in a place that the person may give. */
function OneMore({ permission, onGrant }: Pick<GrantListProps, 'permission'> & { onGrant(grant: GrantItem): void }) {
  const giver = who.value?.grants ?? [];
  const known = sites.value ?? [];
  const places = placeOptions(giver, permission, known);
  const [chosenPlace, setPlace] = useState<string | null>(null);
  const [chosenRole, setRole] = useState('viewer');
  const place = chosenPlace ?? places.at(-1)?.value ?? '';
  const roles = roleOptions(giver, place, permission, known);
  const role = roles.some(({ value }) => value === chosenRole) ? chosenRole : (roles[0]?.value ?? '');
  return (
    <div class="form-row">
      <SelectField label="Where" options={places} value={place} onValue={setPlace} />
      <SelectField label="Role" options={roles} value={role} onValue={setRole} />
      <div class="field-button">
        <button type="button" class="button" disabled={role === ''} onClick={() => onGrant(grantAt(role, place))}>
          Give the role
        </button>
      </div>
    </div>
  );
}
