import { readWords, refusal, serve } from '../local_process.ts';
import { startShop } from './shop_server.ts';

const refuse: () => never = refusal('node services/local/shop/main.ts --port PORT --edge URL --key BROWSER_KEY\n');
const { port = '', edge = '', key } = readWords(['port', 'edge', 'key'], refuse);
if (!/^\d{1,5}$/.test(port) || !URL.canParse(edge) || key === undefined) refuse();
const shop = await startShop(Number(port), { edge: new URL(edge).origin, key });
serve('shop', { url: shop.url }, shop.stop);
