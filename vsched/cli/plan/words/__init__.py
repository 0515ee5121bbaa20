"""What ``vsched plan`` says: of flags, of objects, and on its pages."""
