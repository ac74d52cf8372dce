// The shop's own script, as a site would have it: a cart in the browser, and the calls of the tag that a shop makes.
const CURRENCY = 'EUR';
const cart = () => JSON.parse(localStorage.getItem('cart') ?? '[]');
const keep = (lines) => localStorage.setItem('cart', JSON.stringify(lines));
const total = (lines) => Number(lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0).toFixed(2));
const money = (value) => `€ ${value.toLocaleString('en-GB', { minimumFractionDigits: 2 })}`;
const find = (selector) => document.querySelector(selector);

function showCart() {
  const lines = cart();
  find('[data-cart-count]').textContent = lines.reduce((sum, { quantity }) => sum + quantity, 0);
  find('[data-cart-total]')?.replaceChildren(money(total(lines)));
  const place = find('[data-cart]');
  if (!place) return;
  if (lines.length === 0) return place.replaceChildren('It is empty.');
  place.replaceChildren(
    ...lines.map(cartLine),
    Object.assign(document.createElement('p'), { className: 'price', textContent: money(total(lines)) }),
  );
}

function cartLine({ slug, name, price, quantity }) {
  const line = Object.assign(document.createElement('p'), {
    className: 'line',
    textContent: `${quantity} × ${name}, ${money(price)} `,
  });
  const remove = Object.assign(document.createElement('button'), {
    textContent: 'Remove',
    ariaLabel: `Remove ${name}`,
  });
  remove.addEventListener('click', () => {
    keep(cart().filter((one) => one.slug !== slug));
    showCart();
  });
  line.append(remove);
  return line;
}

find('[data-add-to-cart]')?.addEventListener('click', ({ currentTarget }) => {
  const product = find('.product');
  const { slug } = product.dataset;
  const lines = cart();
  const line = lines.find((one) => one.slug === slug);
  if (line) line.quantity += 1;
  else
    lines.push({
      slug,
      name: product.querySelector('h1').textContent,
      price: Number(currentTarget.dataset.price),
      quantity: 1,
    });
  keep(lines);
  showCart();
  find('[data-added]').textContent = 'It is in your cart.';
});

find('[data-checkout]')?.addEventListener('submit', (event) => {
  const { name, email, city } = Object.fromEntries(new FormData(event.target));
  svc.identify({ email, first_name: name, city });
  sessionStorage.setItem('order', JSON.stringify({ id: crypto.randomUUID().slice(0, 8), value: total(cart()) }));
  keep([]);
  // Nothing of the form goes into the next address.
  event.preventDefault();
  location.assign('/thank-you');
});

const thanks = find('[data-thanks]');
const order = JSON.parse(sessionStorage.getItem('order') ?? 'null');
if (thanks && order) {
  thanks.textContent = `Your order ${order.id} over ${money(order.value)} is not on its way, as this is a demo.`;
  svc.track('purchase', { value: order.value, currency: CURRENCY, order_id: order.id });
  // A reload is no second purchase.
  sessionStorage.removeItem('order');
}

find('[data-contact]')?.addEventListener('submit', (event) => {
  event.preventDefault();
  find('[data-sent]').textContent = 'Thank you, we would write back if this were a shop.';
});

const LOOKS = {
  morning: 'A cup, a notebook, a window.',
  evening: 'One lamp is enough.',
  weekend: 'Letters, written slowly.',
};
function showLook() {
  const look = location.pathname.split('/')[2];
  if (!find('[data-looks]') || !LOOKS[look]) return;
  find('[data-looks]').replaceChildren(Object.assign(document.createElement('p'), { textContent: LOOKS[look] }));
  document.title = `${look} – Lookbook – Harbour & Pine`;
}
for (const link of document.querySelectorAll('[data-look]')) {
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState({}, '', link.href);
    showLook();
  });
}
addEventListener('popstate', showLook);
showLook();
showCart();
