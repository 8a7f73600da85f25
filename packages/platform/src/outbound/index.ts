export { checkHost, hostOf, isPublic, PrivateAddress, publicLookup } from './addresses.js';
export { Deliverer, type DelivererDeps } from './deliverer.js';
export {
  addDelivery,
  BASE_URL,
  clearDeliveries,
  DELIVERIES_HINT,
  deliveriesAbout,
  type NewDelivery,
  type StoredDelivery,
  withdrawDeliveries,
} from './deliveries.js';
export { type FetchJson, type FetchLimits, fetchJson } from './fetch-json.js';
export { OUTBOUND_LIMITS } from './limits.js';
export { isOnlyLogged, type Mail, type Mailer, mailAddress, openMailer } from './mail.js';
export { DEFAULT_RETRIES, RETRY_STRATEGIES, type RetryPolicy, readRetries, retryAfter } from './retries.js';
export { signatureHeaders, webhookKey, webhookSecret } from './signature.js';
export { DeliveryAnswer, deliveryView } from './view.js';
export { postWebhook, type Sent } from './webhook.js';
