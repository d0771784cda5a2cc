// Linked against one whole layer and its declared dependencies: see CMakeLists.txt here.
int main() {
  return 0;
}
