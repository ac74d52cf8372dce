import { useState } from 'preact/hooks';
import type { DomainItem, SiteItem } from '#services/control_api/sites.ts';
import { request, sitePath } from '../../api/request.ts';
import { useGet, useList, useMutation } from '../../api/use_answer.ts';
import { dateTime } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { readSites } from '../../site_list.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm_action.tsx';
import { toast } from '../../ui/dialog.tsx';
import { ActionForm, TextField } from '../../ui/form_fields.tsx';
import { CopyButton } from '../../ui/identifiers.tsx';
import { Empty, Facts, FailureNote, Panel, Shown, StateBadge, type StateLook, Tabs } from '../../ui/panel.tsx';
import { PagesForm } from './site_pages.tsx';
import { BlockRules, ConsentForm, GeneralForm, type SitePartProps } from './site_settings.tsx';

export default function SitePage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const asked = useGet<SiteItem>(sitePath(siteId));
  const onChanged = (): void => {
    asked.again();
    void readSites();
  };
  return (
    <Shown asked={asked} lines={8}>
      {(site) => {
        const props = { site, onChanged };
        return (
          <Tabs
            label="Site settings"
            chosen={currentLocation.value.query.get('view') ?? 'general'}
            onChosen={(view) => setQuery({ view: view === 'general' ? null : view })}
            tabs={[
              { id: 'general', label: 'General', keeps: true, content: () => <GeneralForm {...props} /> },
              { id: 'consent', label: 'Tag and consent', keeps: true, content: () => <ConsentForm {...props} /> },
              { id: 'pages', label: 'Pages', keeps: true, content: () => <PagesForm {...props} /> },
              { id: 'domains', label: 'Domains', content: () => <Domains {...props} /> },
              { id: 'block', label: 'Block rules', keeps: true, content: () => <BlockRules {...props} /> },
            ]}
          />
        );
      }}
    </Shown>
  );
}

const STATES: Readonly<Record<DomainItem['state'], StateLook>> = {
  pending: { label: 'Waiting for its DNS record', badge: 'warn' },
  verified: { label: 'Verified', badge: 'good' },
  failing: { label: 'DNS record missing', badge: 'bad' },
  lapsed: { label: 'Lapsed: no longer served', badge: 'bad' },
};
const EVERY_MS = 15_000;

function Domains({ site, onChanged }: SitePartProps) {
  const siteId = site.site_id;
  const asked = useList<DomainItem>('/v1/admin/domains', { site_id: siteId }, EVERY_MS);
  const again = (): void => {
    asked.again();
    onChanged();
  };
  const mayChange = mayAt('site.change', siteId);
  return (
    <div class="stack">
      <Panel
        title="First-party domains"
        note="Your own domain that points to the edge, so that the tag is first-party."
      >
        <div class="stack">
          {mayChange && <ClaimDomain siteId={siteId} onClaimed={again} />}
          <Shown asked={asked}>{({ items }) => (items.length === 0 ? <Empty title="No domains yet" /> : null)}</Shown>
        </div>
      </Panel>
      {(asked.value?.items ?? []).map((item) => (
        <OneDomain key={item.domain} item={item} mayChange={mayChange} onChanged={again} />
      ))}
    </div>
  );
}

function ClaimDomain({ siteId, onClaimed }: { siteId: string; onClaimed(): void }) {
  const [domain, setDomain] = useState('');
  return (
    <ActionForm
      class="stack narrow"
      action="Add domain"
      run={() => request<DomainItem>('PUT', sitePath(siteId, 'domains', domain.trim()))}
      onDone={() => {
        setDomain('');
        onClaimed();
      }}
    >
      {() => <TextField label="Domain" required placeholder="events.shop.example" value={domain} onValue={setDomain} />}
    </ActionForm>
  );
}

interface OneDomainProps {
  item: DomainItem;
  mayChange: boolean;
  onChanged(): void;
}

function OneDomain({ item, mayChange, onChanged }: OneDomainProps) {
  const { domain, state, records, verified_at, lapses_at } = item;
  const needsRecord = state !== 'verified';
  return (
    <Panel title={domain} actions={mayChange && <DomainActions item={item} onChanged={onChanged} />}>
      <div class="stack">
        <p class="row">
          <StateBadge of={STATES[state]} />
          {state === 'verified' && verified_at !== null && <span class="muted">since {dateTime(verified_at)}</span>}
          {lapses_at !== null && <span class="muted">served until {dateTime(lapses_at)}</span>}
        </p>
        <details open={needsRecord}>
          <summary>DNS record</summary>
          <p class="muted">
            {records.cname === null ? 'Set this record' : 'Set one of these records'}, and keep it. It is checked every
            few minutes.
          </p>
          <DnsRecord type="TXT" {...records.txt} />
          {records.cname !== null && <DnsRecord type="CNAME" {...records.cname} />}
          <p class="muted">{withoutAlias(item)}</p>
        </details>
      </div>
    </Panel>
  );
}

/** What brings the traffic where the CNAME record does not. */
function withoutAlias({ domain, records }: DomainItem): string {
  const address = 'A or AAAA records with the addresses of the edge (ask the operator of the service)';
  return records.cname === null
    ? `For its traffic ${domain} needs ${address}, or a CNAME record to its name.`
    : `Where ${domain} cannot have a CNAME record, as at the top of a zone, set the TXT record, and beside it ${address}.`;
}

const DnsRecord = ({ type, name, value }: { type: string; name: string; value: string }) => (
  <Facts
    class="dns-record"
    facts={[
      ['Type', type],
      ['Name', <Copied text={name} what={`name of the ${type} record`} />],
      ['Value', <Copied text={value} what={`value of the ${type} record`} />],
    ]}
  />
);

const Copied = ({ text, what }: { text: string; what: string }) => (
  <div class="secret">
    <code>{text}</code>
    <CopyButton text={text} what={what} />
  </div>
);

function DomainActions({ item, onChanged }: Pick<OneDomainProps, 'item' | 'onChanged'>) {
  const { site_id, domain } = item;
  const path = sitePath(site_id, 'domains', domain);
  const action = useMutation();
  const verify = () =>
    action.run(
      () => request<DomainItem>('POST', `${path}/verify`),
      ({ state }) => {
        const isVerified = state === 'verified';
        const said = isVerified ? `${domain} is verified` : `The record of ${domain} was not found yet`;
        toast(said, isVerified ? 'good' : 'bad');
        onChanged();
      },
    );
  return (
    <>
      <FailureNote failure={action.failure} />
      <Button kind="small" label="Verify now" disabled={action.isBusy} onClick={verify} />
      <ConfirmButton
        kind="small danger"
        title={`Remove ${domain}?`}
        action="Remove"
        run={() => request<DomainItem>('DELETE', path)}
        said={`${domain} was removed`}
        onDone={onChanged}
      >
        It is no longer served, and pages that load the tag from it stop sending.
      </ConfirmButton>
    </>
  );
}
