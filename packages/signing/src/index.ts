export * from './certificate.js';
export * from './event-login.js';
export * from './keys.js';
export * from './limits.js';
export * from './request-signing.js';
export * from './signed-headers.js';
