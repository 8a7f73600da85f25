/** What is used of it: the package has no types of its own. */
declare module 'sodium-native' {
  const sodium: {
    crypto_box_keypair(publicKey: Buffer, secretKey: Buffer): void;
    crypto_scalarmult_base(publicKey: Buffer, secretKey: Buffer): void;
    /** Throws for a point of low order. */
    crypto_scalarmult(point: Buffer, secretKey: Buffer, publicKey: Buffer): void;
    crypto_secretbox_easy(sealed: Buffer, message: Buffer, nonce: Buffer, key: Buffer): void;
    crypto_secretbox_open_easy(message: Buffer, sealed: Buffer, nonce: Buffer, key: Buffer): boolean;
  };
  export default sodium;
}
