import type { ComponentChildren, VNode } from 'preact';
import type { SiteChange, SiteItem } from '#services/control_api/sites.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { type Editing, useEditing } from '../../editing/use_editing.ts';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import type { SitePartProps } from './site_part.ts';

const sitePath = (siteId: string): string => `/v1/admin/sites/${encodeURIComponent(siteId)}`;

/** The settings of a site as they are now. */
export const readSite = (siteId: string): Promise<Answer<SiteItem>> => request('GET', sitePath(siteId));

/** Changes fields of a site that is still as it was read. */
export const patchSite = ({ site_id, version }: SiteItem, body: SiteChange): Promise<Answer<SiteItem>> =>
  request('PATCH', sitePath(site_id), { body, version });

interface SiteFormOf<Draft> {
  draftOf(site: SiteItem): Draft;
  changeOf(draft: Draft, site: SiteItem): SiteChange;
  /** What is said when it is saved. */
  said: string;
}

/** A form over some fields of the site. */
export function useSiteForm<Draft extends object>(
  { site, onChanged }: SitePartProps,
  { draftOf, changeOf, said }: SiteFormOf<Draft>,
): Editing<Draft> {
  return useEditing<SiteItem, Draft>({
    item: site,
    draftOf,
    read: () => readSite(site.site_id),
    write: (draft, base) => patchSite(base, changeOf(draft, base)),
    onSaved() {
      toast(said);
      onChanged();
    },
    onTheirs: onChanged,
  });
}

interface SiteFormProps {
  site: SiteItem;
  form: Pick<Editing<object>, 'isBusy' | 'failure' | 'conflict' | 'isChanged' | 'save'>;
  /** What its fields are called. */
  names: Readonly<Record<string, string>>;
  children: ComponentChildren;
}

/** A form over fields of the site, which only those who may change can edit. */
export function SiteForm({ site, form, names, children }: SiteFormProps): VNode {
  const mayChange = mayAt('site.change', site.site_id);
  return (
    <form
      class="stack narrow"
      onSubmit={(event) => {
        event.preventDefault();
        void form.save();
      }}
    >
      <fieldset class="stack" disabled={!mayChange}>
        {children}
      </fieldset>
      {form.failure !== null && <FailureNote failure={form.failure} />}
      {mayChange && (
        <div class="actions">
          <button type="submit" class="button primary" disabled={!form.isChanged || form.isBusy}>
            Save
          </button>
        </div>
      )}
      <ConflictDialog saving={form} what="the site" names={names} />
    </form>
  );
}
