import type { ComponentChildren, VNode } from 'preact';
import type { SiteChange, SiteItem } from '#services/control_api/site_shapes.ts';
import { request } from '../../api/request.ts';
import { type Action, useAction } from '../../api/use_action.ts';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import type { SitePartProps } from './site_part.ts';

/** Changes fields of the site; where somebody else changed them meanwhile the service says so. */
export function useSiteChange({ site, version, onChanged }: SitePartProps): Action & {
  save(body: SiteChange, said: string): Promise<boolean>;
} {
  const action = useAction();
  const path = `/v1/admin/sites/${encodeURIComponent(site.site_id)}`;
  return {
    ...action,
    async save(body, said) {
      const changed = await action.run(() => request<SiteItem>('PATCH', path, { body, version }));
      if (changed === null) return false;
      toast(said);
      onChanged();
      return true;
    },
  };
}

interface SiteFormProps {
  site: SiteItem;
  action: Action;
  isChanged: boolean;
  onSave(): void;
  children: ComponentChildren;
}

/** A form over fields of the site, which only those who may change can edit. */
export function SiteForm({ site, action, isChanged, onSave, children }: SiteFormProps): VNode {
  const mayChange = mayAt('site.change', site.site_id);
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        onSave();
      }}
    >
      <fieldset class="stack" disabled={!mayChange}>
        {children}
      </fieldset>
      {action.failure !== null && <FailureNote failure={action.failure} />}
      {mayChange && (
        <div class="actions">
          <button type="submit" class="button primary" disabled={!isChanged || action.isBusy}>
            Save
          </button>
        </div>
      )}
    </form>
  );
}
