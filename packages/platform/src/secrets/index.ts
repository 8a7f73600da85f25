export { given } from './giving.js';
export { SECRET_LIMITS, SECRET_NAME } from './limits.js';
export { openSecretProviders, SecretProviders } from './providers/providers.js';
export { secretRoutes } from './routes.js';
export { checkKeyFiles, openFormerKey, openSealingKey, resealed, SealingKey } from './sealing-key.js';
export { type Secret, Secrets, type SecretUser, whyNoValue } from './secrets.js';
