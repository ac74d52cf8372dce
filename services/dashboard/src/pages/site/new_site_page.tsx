import type { AccountItem, SiteItem } from '#services/control_api/sites.ts';
import { type ApiResult, request } from '../../api/request.ts';
import { useList } from '../../api/use_answer.ts';
import { timeZone, typedNumber } from '../../format.ts';
import { navigate } from '../../router.ts';
import { currentUser, mayEverywhere } from '../../session.ts';
import { readSites } from '../../site_list.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { ActionForm, problemOf, SelectField, TextField, useDraft } from '../../ui/form_fields.tsx';
import { siteAddress } from '../../ui/identifiers.tsx';
import { Empty, Panel, Shown } from '../../ui/panel.tsx';
import {
  ALLOWANCE_USUAL,
  accountsWith,
  CURRENCY_HINT,
  orNull,
  type SiteDraft,
  siteIdOf,
  zoneChoices,
  zoneOrNull,
} from './site_form.ts';

const NEW_ACCOUNT = { value: '', label: 'A new account' };

/** Makes a site, and its account where there is none yet; the next step is its key and the line for its pages. */
export default function NewSitePage() {
  const asked = useList<AccountItem>('/v1/admin/accounts');
  return (
    <Panel title="Site details" note="A site has its own events, keys and destinations.">
      <Shown asked={asked}>{({ items }) => <SiteForm accounts={items} onAccountMade={asked.again} />}</Shown>
    </Panel>
  );
}

function SiteForm({ accounts, onAccountMade }: { accounts: readonly AccountItem[]; onAccountMade(): void }) {
  const own = accountsWith('site.create', accounts, currentUser.value?.grants ?? []).map(({ account_id, name }) => ({
    value: account_id,
    label: name === account_id ? name : `${name} (${account_id})`,
  }));
  const options = mayEverywhere('account.create') ? [...own, NEW_ACCOUNT] : own;
  const { draft, edit, field } = useDraft<SiteDraft>(() => ({
    ...{ name: '', siteId: null, accountId: options[0]?.value ?? '', allowance: ALLOWANCE_USUAL },
    ...{ timeZone: timeZone(), currency: '' },
  }));
  const onAccount = (accountId: string): void => {
    // Where the site is refused after this, the next try is for the account that is there now.
    edit({ accountId });
    onAccountMade();
  };
  const open = async ({ site_id }: SiteItem): Promise<void> => {
    await readSites();
    navigate(siteAddress(site_id, 'install'));
  };
  if (options.length === 0) return <Empty title="You cannot create sites in any account" />;
  return (
    <ActionForm
      class="stack narrow"
      action="Create site"
      isReady={siteIdOf(draft) !== ''}
      run={() => makeSite(draft, onAccount)}
      onDone={open}
    >
      {(failure) => (
        <>
          <TextField label="Name" required {...field(failure)('name')} />
          <TextField
            label="Id"
            required
            hint="For the API and URLs; cannot be changed later. Up to 64 of a-z, 0-9, _ and -."
            problem={problemOf(failure, 'site_id')}
            value={siteIdOf(draft)}
            onValue={(siteId) => edit({ siteId })}
          />
          <SelectField
            label="Account"
            hint="Its events count against the monthly allowance of this account."
            options={options}
            {...field(null)('accountId')}
          />
          <Combobox
            label="Time zone"
            options={zoneChoices()}
            takesFirst
            value={draft.timeZone}
            onValue={(zone) => edit({ timeZone: zone })}
          />
          <TextField
            label="Currency of revenue (optional)"
            placeholder="EUR"
            hint={CURRENCY_HINT}
            {...field(failure)('currency')}
          />
          {draft.accountId === '' && (
            <TextField
              label="Events per month"
              inputMode="numeric"
              required
              {...field(failure)('allowance', 'monthly_allowance')}
            />
          )}
        </>
      )}
    </ActionForm>
  );
}

async function makeSite(draft: SiteDraft, onAccount: (accountId: string) => void): Promise<ApiResult<SiteItem>> {
  const [site_id, name] = [siteIdOf(draft), draft.name.trim()];
  if (draft.accountId === '') {
    const body = { account_id: site_id, name, monthly_allowance: typedNumber(draft.allowance) };
    const made = await request<AccountItem>('POST', '/v1/admin/accounts', { body });
    if (!made.ok) return made;
    onAccount(site_id);
  }
  const account_id = draft.accountId === '' ? site_id : draft.accountId;
  const currency = orNull(draft.currency.toUpperCase());
  const body = { site_id, name, account_id, time_zone: zoneOrNull(draft.timeZone), currency };
  return request<SiteItem>('POST', '/v1/admin/sites', { body });
}
