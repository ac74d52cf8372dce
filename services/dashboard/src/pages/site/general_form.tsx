import type { VNode } from 'preact';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { SiteForm, useSiteChange } from './save_site.tsx';
import { CATEGORIES, type GeneralDraft, generalChange, generalDraft } from './site_form.ts';
import type { SitePartProps } from './site_part.ts';
import { useEdited } from './use_edited.ts';

const MODES = [
  { value: 'online', label: 'Online: visitors can be recognised' },
  { value: 'offline', label: 'Offline: anonymous, identifiers are stripped' },
];

/** Name, mode, category, country and what other tools need. */
export function GeneralForm(props: SitePartProps): VNode {
  const { site } = props;
  const [draft, edit] = useEdited(generalDraft(site), site.version);
  const action = useSiteChange(props);
  const change = generalChange(draft, site);
  const field = (name: keyof GeneralDraft, ofBody: string) => ({
    value: draft[name],
    onValue: (value: string) => edit({ [name]: value }),
    problem: problemOf(action.failure, ofBody),
  });
  return (
    <Panel title="About the site" note={`Site ${site.site_id} of account ${site.account_id}`}>
      <SiteForm
        site={site}
        action={action}
        isChanged={Object.keys(change).length > 0}
        onSave={() => void action.save(change, 'Saved the site')}
      >
        <TextField label="Name" required {...field('name', 'name')} />
        <SelectField
          label="Mode"
          options={MODES}
          hint="In offline mode nothing that could tell who a visitor is goes beyond the edge, from the next event on."
          {...field('mode', 'mode')}
        />
        <div class="form-row">
          <SelectField label="Category" options={CATEGORIES} {...field('category', 'business_category')} />
          <TextField
            label="Country (optional)"
            placeholder="AT"
            hint="Two letters; reads phone numbers written without a country code."
            {...field('country', 'default_country')}
          />
        </div>
        <TextField
          label="Events that say who a visitor is (optional)"
          lines={3}
          hint="One on a line; empty: the standard list."
          {...field('identifyEvents', 'identify_events')}
        />
        <div class="form-row">
          <TextField label="Clarity project (optional)" {...field('clarity', 'clarity_project_id')} />
          <TextField
            label="Tag Manager container (optional)"
            placeholder="GTM-ABC123"
            {...field('gtm', 'gtm_container_id')}
          />
        </div>
      </SiteForm>
    </Panel>
  );
}
