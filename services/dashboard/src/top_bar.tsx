import type { VNode } from 'preact';
import { isUnfolded } from './navigation.tsx';
import type { Page } from './page_spec.ts';
import { addressOf, go, place } from './router.ts';
import { chosenSite, pathAtSite, sites } from './site_list.ts';
import { type Theme, theme } from './theme.ts';
import { Combobox } from './ui/combobox.tsx';
import { Icon } from './ui/icon.tsx';
import { Menu } from './ui/menu.tsx';
import { PeriodPicker } from './ui/period_picker.tsx';
import { toast } from './ui/toast.tsx';
import { signOut, who } from './who.ts';

/** The bar on top: which site, which time, who is signed in. */
export function TopBar({ page }: { page: Page | null }): VNode {
  return (
    <header class="top-bar">
      <button
        type="button"
        class="button icon-only unfold"
        aria-label="Pages"
        aria-expanded={isUnfolded.value}
        aria-controls="navigation"
        onClick={() => {
          isUnfolded.value = !isUnfolded.value;
        }}
      >
        <Icon name={isUnfolded.value ? 'close' : 'menu'} />
      </button>
      <SiteSwitcher />
      <span class="top-bar-space" />
      {page?.hasPeriod === true && <PeriodPicker />}
      <AccountMenu />
    </header>
  );
}

function SiteSwitcher(): VNode | null {
  const known = sites.value;
  const site = chosenSite.value;
  if (known === null || site === null) return <div class="site-switcher" />;
  const options = known.map(({ site_id, name }) => ({
    value: site_id,
    label: name === site_id ? site_id : `${name} (${site_id})`,
  }));
  return (
    <div class="site-switcher">
      <Combobox
        label="Site"
        hidesLabel
        value={site}
        options={options}
        onValue={(chosen) => {
          if (chosen === site) return;
          const query = new URLSearchParams(place.value.query);
          // Whom somebody looked for at one site is nobody's id at another.
          query.delete('id');
          go(addressOf(pathAtSite(place.value.path, chosen), query));
        }}
      />
    </div>
  );
}

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: 'system', label: 'As the device' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

function AccountMenu(): VNode {
  const name = who.value?.name ?? '';
  const leave = async (): Promise<void> => {
    const answer = await signOut();
    if (!answer.ok) toast(`You are still signed in: ${answer.failure.message}`, 'bad');
  };
  return (
    <Menu label={<Icon name="account" />} name={`Account of ${name}`} align="end">
      {(close) => (
        <>
          <p class="menu-title">
            {name}
            <span class="muted small">{who.value?.id}</span>
          </p>
          <fieldset class="theme-choice">
            <legend>Colours</legend>
            {THEMES.map(({ value, label }) => (
              <label key={value}>
                <input
                  type="radio"
                  name="theme"
                  value={value}
                  checked={theme.value === value}
                  onChange={() => {
                    theme.value = value;
                  }}
                />
                {label}
              </label>
            ))}
          </fieldset>
          <hr />
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              go(addressOf('/account', new URLSearchParams({ view: 'you' })));
            }}
          >
            How you sign in
          </button>
          <button type="button" class="menu-item" onClick={() => void leave()}>
            Sign out
          </button>
        </>
      )}
    </Menu>
  );
}
